#pragma once

namespace tenon::hccl {

// The calling thread, and those that it starts from now on, run before all ordinary ones. What moves messages needs a core for
// microseconds at a time, and where every core computes it would wait for the end of a time slice each time. Throws Fault EI0001
// where the system does not allow it.
void RunBeforeOthers();

}  // namespace tenon::hccl

#pragma once

namespace tenon {

// `tenon doctor barrier [--timeout SECONDS]`, once per rank under a launcher
struct DoctorBarrierOptions {
  double timeout = 60;
};
// Meets the other ranks, passes one barrier with them and says so. 0 when all passed.
int RunDoctorBarrier(const DoctorBarrierOptions& options);

}  // namespace tenon

#pragma once

namespace tenon {

// `tenon doctor env [--json]`
struct DoctorEnvOptions {
  bool json = false;
};
// Looks for mixed installations, library paths that pick a wrong library, and tools that are missing. 0 when nothing would
// make a run fail, else 1; what only some commands need is told and is no failure.
int RunDoctorEnv(const DoctorEnvOptions& options);

}  // namespace tenon

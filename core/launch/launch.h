#pragma once

#include "core/base/status.h"
#include "core/launch/launch_options.h"

namespace tenon {

// What `msrun` does: starts the workers and the scheduler of a job, watches them, starts the job again after a failure as
// often as allowed, and prints who failed first and why. Returns the exit code for the shell: that of the first failure.
// Call from main, before threads exist. No process of the job is left when it returns, or when it is killed; without
// --join all go on.
Result<int> Launch(const LaunchOptions& options);

}  // namespace tenon

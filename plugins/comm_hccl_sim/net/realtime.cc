#include "net/realtime.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <string>

#include "hccl/fault.h"

namespace tenon::hccl {

void RunBeforeOthers() {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_RR);
  const int error = pthread_setschedparam(pthread_self(), SCHED_RR, &lowest);
  if (error == 0) return;
  throw MakeFault(
      TENON_FAILED_PRECONDITION, Ei::kEnvironment,
      std::string("Environment variable TENON_HCCL_PRIORITY is 'realtime', and the system does not allow it: ") +
          std::strerror(error) + ". It needs CAP_SYS_NICE, or a limit of RLIMIT_RTPRIO (ulimit -r) of 1.");
}

}  // namespace tenon::hccl

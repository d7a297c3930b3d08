// Monotonic time, the same for all processes of a machine.
#pragma once

#include <time.h>

#include <cstdint>

namespace tenon::hccl {

constexpr uint64_t kForever = UINT64_MAX;  // as a point in time: never

inline uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

inline void SleepNs(uint64_t ns) {
  const timespec span{static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
  nanosleep(&span, nullptr);
}

// The point timeout_ns from now; 0 and UINT64_MAX are for ever.
inline uint64_t DeadlineIn(uint64_t timeout_ns) {
  const uint64_t now = NowNs();
  return timeout_ns == 0 || timeout_ns > kForever - now ? kForever : now + timeout_ns;
}

}  // namespace tenon::hccl

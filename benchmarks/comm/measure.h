// What both sides of benchmarks/comm.sh do alike: fill, read every element, note the times, report.
#pragma once

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace tenon::bench {

inline std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Small whole numbers: their sums are exact.
inline void Fill(float* values, std::size_t count, int rank) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i & 7) + rank + 1);
}

// Reads every element, as fast as a core can.
__attribute__((target("avx2"))) inline std::uint64_t Checksum(const float* values, std::size_t count) {
  __m256i sums[4] = {};
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int lane = 0; lane < 4; ++lane) {
      const __m256i* words = reinterpret_cast<const __m256i*>(values + i + 8 * lane);
      sums[lane] = _mm256_add_epi64(sums[lane], _mm256_loadu_si256(words));
    }
  }
  std::uint64_t words[4];
  const __m256i all = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), all);
  std::uint64_t sum = words[0] + words[1] + words[2] + words[3];
  for (; i < count; ++i) sum += static_cast<std::uint64_t>(values[i]);
  return sum;
}

// The checksum of the sum over `ranks` ranks.
inline std::uint64_t ExpectedChecksum(std::size_t count, int ranks) {
  std::vector<float> sum(count, 0), one(count);
  for (int rank = 0; rank < ranks; ++rank) {
    Fill(one.data(), count, rank);
    for (std::size_t i = 0; i < count; ++i) sum[i] += one[i];
  }
  return Checksum(sum.data(), count);
}

constexpr int kWarmUp = 3;
inline int RoundsFor(std::size_t bytes) { return bytes <= 65536 ? 3000 : bytes <= (4u << 20) ? 300 : 12; }

// From the last arrival until the last rank has read everything, median in microseconds. `starts` and `ends` are by round and
// rank.
inline double MedianUs(const std::int64_t* starts, const std::int64_t* ends, int rounds, int ranks) {
  std::vector<std::int64_t> times;
  for (int round = kWarmUp; round < rounds; ++round) {
    const std::int64_t* start = starts + round * ranks;
    const std::int64_t* end = ends + round * ranks;
    times.push_back(*std::max_element(end, end + ranks) - *std::max_element(start, start + ranks));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return static_cast<double>(times[times.size() / 2]) * 1e-3;
}

}  // namespace tenon::bench

// Which channels of a pooled pixel pass their gradient to a position of its window. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Channels of [0, count <= 64) whose winner is `position` and whose gradient is not zero, as bits.
TENON_INLINE uint64_t LiveChannels(const float* g, const uint8_t* winners, int64_t count, int position) {
  uint64_t bits = 0;
  int64_t i = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(position));
  for (; i + 16 <= count; i += 16) {
    unsigned won = 0xffff;
    if (winners != nullptr) {
      const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winners + i));
      won = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(w, wanted)));
    }
    unsigned zero = 0;
    TENON_UNROLL for (int q = 0; q < 4; ++q) zero |=
        static_cast<unsigned>(_mm_movemask_ps(_mm_cmpeq_ps(_mm_loadu_ps(g + i + 4 * q), _mm_setzero_ps()))) << (4 * q);
    bits |= static_cast<uint64_t>(won & ~zero) << i;
  }
#endif
  for (; i < count; ++i)
    bits |= static_cast<uint64_t>((winners == nullptr || winners[i] == position) && g[i] != 0.0f) << i;
  return bits;
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// The random words of an operator: word i is word i % 4 of Philox4x32-10 with counter {i / 4, offset} (the rule of random
// operators, so that every device draws the same). Source: Salmon et al., SC 2011. Included by files compiled per
// instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

typedef uint32_t UVec __attribute__((vector_size(kLanes * 4)));
typedef uint32_t UVecAny __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

// High and low halves of the 64-bit products with `m`.
TENON_INLINE void MultiplyWide(UVec x, uint32_t m, UVec& high, UVec& low) {
#if TENON_CPU_LANES == 16 && defined(__AVX512F__)
  const __m512i v = reinterpret_cast<__m512i>(x), by = _mm512_set1_epi64(m);
  const __m512i even = _mm512_mul_epu32(v, by), odd = _mm512_mul_epu32(_mm512_srli_epi64(v, 32), by);
  high = reinterpret_cast<UVec>(_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd));
  low = x * m;
#elif TENON_CPU_LANES == 8 && defined(__AVX2__)
  const __m256i v = reinterpret_cast<__m256i>(x), by = _mm256_set1_epi64x(m);
  const __m256i even = _mm256_mul_epu32(v, by), odd = _mm256_mul_epu32(_mm256_srli_epi64(v, 32), by);
  high = reinterpret_cast<UVec>(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
  low = x * m;
#else
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t product = static_cast<uint64_t>(x[i]) * m;
    high[i] = static_cast<uint32_t>(product >> 32);
    low[i] = static_cast<uint32_t>(product);
  }
#endif
}

// Blocks first to first + kLanes - 1 as w[word][block].
TENON_INLINE void PhiloxBlocks(uint64_t key, uint64_t offset, uint64_t first, UVec (&w)[4]) {
  for (int i = 0; i < kLanes; ++i) {
    w[0][i] = static_cast<uint32_t>(first + static_cast<uint64_t>(i));
    w[1][i] = static_cast<uint32_t>((first + static_cast<uint64_t>(i)) >> 32);
  }
  w[2] = UVec{} + static_cast<uint32_t>(offset);
  w[3] = UVec{} + static_cast<uint32_t>(offset >> 32);
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    UVec high_a, low_a, high_b, low_b;
    MultiplyWide(w[0], 0xD2511F53u, high_a, low_a);
    MultiplyWide(w[2], 0xCD9E8D57u, high_b, low_b);
    w[0] = high_b ^ w[1] ^ key0;
    w[1] = low_b;
    w[2] = high_a ^ w[3] ^ key1;
    w[3] = low_a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

constexpr int64_t kWordsAtOnce = 4 * kLanes;

// Words first to first + kWordsAtOnce - 1; first is a multiple of 4.
TENON_INLINE void RandomWords(uint64_t key, uint64_t offset, uint64_t first, uint32_t* out) {
  UVec w[4];
  PhiloxBlocks(key, offset, first / 4, w);
  alignas(64) uint32_t columns[4][kLanes];
  TENON_UNROLL for (int j = 0; j < 4; ++j) * reinterpret_cast<UVecAny*>(columns[j]) = w[j];
  for (int i = 0; i < kLanes; ++i) TENON_UNROLL for (int j = 0; j < 4; ++j) out[4 * i + j] = columns[j][i];
}

// An element is dropped where its word is below this.
TENON_INLINE uint64_t DropLimit(double ratio) { return static_cast<uint64_t>(ratio * 4294967296.0); }

// factors[i] = word (first + i) is kept ? scale : 0, for count elements.
TENON_INLINE void DropFactors(uint64_t key, uint64_t offset, uint64_t first, int64_t count, uint64_t limit, float scale,
                              float* factors) {
  alignas(64) uint32_t words[kWordsAtOnce];
  const uint64_t begin = first / 4 * 4;
  int64_t at = -static_cast<int64_t>(first - begin);
  for (uint64_t word = begin; at < count; word += kWordsAtOnce, at += kWordsAtOnce) {
    RandomWords(key, offset, word, words);
    const int64_t from = at < 0 ? -at : 0, to = Min(kWordsAtOnce, count - at);
    for (int64_t i = from; i < to; ++i) factors[at + i] = words[i] >= limit ? scale : 0.0f;
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// Elements of the operands of products: float, or pairs of bf16, two neighbours along the dimension that the product sums
// over. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Pair {
  uint32_t bits;
};
template <class E>
constexpr int64_t kPack = 1;  // numbers in an element
template <>
constexpr int64_t kPack<Pair> = 2;

TENON_INLINE Vec AddProduct(Vec sum, float a, Vec b) { return sum + Set(a) * b; }
TENON_INLINE Vec Load(const Pair* p) { return Load(reinterpret_cast<const float*>(p)); }
TENON_INLINE void Store(Pair* p, Vec pairs) { Store(reinterpret_cast<float*>(p), pairs); }

// What matrices of T are packed to.
template <class T>
struct PackedAs {
  using Type = float;
};

TENON_INLINE Vec PairUp(Vec low, Vec high) {  // of bf16 numbers in float
  return Floats(reinterpret_cast<IVec>(reinterpret_cast<UVec>(low) >> 16) | Bits(high));
}

// The numbers of two vectors, rounded to bf16, as pairs.
TENON_INLINE Vec RoundToPairs(Vec low, Vec high) {
#if defined(__AVX512BF16__)
  alignas(64) static constexpr uint16_t kInPairs[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512bh rounded = _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low));
  return reinterpret_cast<Vec>(
      _mm512_permutexvar_epi16(_mm512_load_si512(kInPairs), reinterpret_cast<__m512i>(rounded)));
#else
  const UVec kept = reinterpret_cast<UVec>(RoundToBf16(low)) & 0xffffu;
  return reinterpret_cast<Vec>(kept | reinterpret_cast<UVec>(RoundToBf16(high)) << 16);
#endif
}

#if defined(__AVX512BF16__)
template <>
struct PackedAs<Bf16> {
  using Type = Pair;
};
TENON_INLINE Vec AddProduct(Vec sum, Pair a, Vec b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a.bits))),
                                                reinterpret_cast<__m512bh>(b)));
}
#endif

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

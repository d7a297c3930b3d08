// What becomes of the sums of a product of bf16: scale, bias, Relu, the mask of a gradient, Gelu, and rounding.
#pragma once

#include "plugins/device_cpu/compute/bf16_panels.h"
#include "plugins/device_cpu/compute/gelu_value.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

TENON_INLINE Vec WidenVec(const uint16_t* p, int64_t count) {
  const __m256i low = _mm256_maskz_loadu_epi16(FirstLanes(count), p);
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16));
}
TENON_INLINE void NarrowVec(uint16_t* p, Vec v, int64_t count) {
  const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  if (count >= kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits);
  _mm256_mask_storeu_epi16(p, FirstLanes(count), bits);
}
// The nearest bf16 numbers, as floats.
TENON_INLINE Vec Rounded(Vec v) {
  const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
// What becomes of a tile's sums; `partial` holds those of the blocks of k before (rows of length n), in f32 C does.
template <class Args>
struct Finish {
  const Args* g;
  float* partial;
  bool first, last;
};

TENON_INLINE Vec BiasOf(const GemmBf16Args& g, int64_t column, int64_t count) {
  if (g.wide_bias != nullptr) return Rounded(LoadPartial(g.wide_bias + column, count));
  return g.bias != nullptr ? WidenVec(g.bias + column, count) : Zero();
}
TENON_INLINE void FinishVec(const Finish<GemmBf16Args>& f, Vec sum, int64_t row, int64_t column, int64_t count) {
  const GemmBf16Args& g = *f.g;
  if (f.partial != nullptr) {
    float* partial = f.partial + row * g.n + column;
    if (!f.first) sum += LoadPartial(partial, count);
    if (!f.last) return StorePartial(partial, sum, count);
  }
  const int64_t at = row * g.c_row + column;
  sum = sum * Set(g.alpha) + BiasOf(g, column, count);
  if (g.relu) sum = Relu(sum);
  if (g.wide_c != nullptr) return StorePartial(g.wide_c + at, Rounded(sum), count);
  NarrowVec(g.c + at, sum, count);
}
TENON_INLINE void FinishVec(const Finish<GemmArgs>& f, Vec sum, int64_t row, int64_t column, int64_t count) {
  const GemmArgs& g = *f.g;
  float* c = g.c + row * g.c_row + column;
  sum = sum * Set(g.alpha);
  if (g.accumulate || !f.first) sum += LoadPartial(c, count);
  if (f.last) {
    if (g.bias != nullptr) sum += LoadPartial(g.bias + column, count);
    if (g.relu) sum = Relu(sum);
    if (g.mask != nullptr) sum = KeepWhere(~(LoadPartial(g.mask + row * g.mask_row + column, count) <= Zero()), sum);
  }
  StorePartial(c, sum, count);
}

// Two neighbouring vectors of C at once, of the last block of k.
TENON_INLINE void FinishTwo(const Finish<GemmBf16Args>& f, Vec low, Vec high, int64_t row, int64_t column) {
  const GemmBf16Args& g = *f.g;
  if (f.partial != nullptr) {
    const float* partial = f.partial + row * g.n + column;
    if (!f.first) low += Load(partial), high += Load(partial + kLanes);
  }
  const int64_t at = row * g.c_row + column;
  low = low * Set(g.alpha) + BiasOf(g, column, kLanes), high = high * Set(g.alpha) + BiasOf(g, column + kLanes, kLanes);
  if (g.relu) low = Relu(low), high = Relu(high);
  if (g.wide_c != nullptr) {
    Store(g.wide_c + at, Rounded(low));
    return Store(g.wide_c + at + kLanes, Rounded(high));
  }
  const __m512bh both = _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low));
  _mm512_storeu_si512(g.c + at, reinterpret_cast<__m512i>(both));
}

TENON_INLINE void GeluOf(const uint16_t* c, int64_t count, bool tanh, uint16_t* y) {
  const Vec x = WidenVec(c, count);
  NarrowVec(y, tanh ? GeluValue<true>(x) : GeluValue<false>(x), count);
}
TENON_INLINE void GeluOf(const float* c, int64_t count, bool tanh, float* y) {
  const Vec x = LoadPartial(c, count);
  StorePartial(y, tanh ? GeluValue<true>(x) : GeluValue<false>(x), count);
}
// Gelu of a finished area of C, if it is wanted.
template <class Args>
void Activate(const Finish<Args>& f, Range rows, int64_t column, int64_t columns) {
  const Args& g = *f.g;
  if (!f.last || g.gelu == nullptr) return;
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = 0; j < columns; j += kLanes) {
      const int64_t at = i * g.c_row + column + j;
      GeluOf(g.c + at, Min(kLanes, columns - j), g.gelu_tanh, g.gelu + at);
    }
}

template <class Args>
void FinishOnly(const Args& g) {
  const Finish<Args> finish{&g, nullptr, true, true};
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; j += kLanes) FinishVec(finish, Zero(), i, j, Min(kLanes, g.n - j));
  Activate(finish, {0, g.m}, 0, g.n);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// dx before a pool of 2 x 2: the windows of the four positions of a pool meet in one patch of x, which is summed in registers.
// Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/conv_image.h"
#include "plugins/device_cpu/compute/live_channels.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The patch of one pooled pixel: kh + 1 rows of (kw + 1) * c floats in whole vectors. Weights are [channel][column of the pool]
// [row of the window][row of a patch]; in the second column they begin c floats later.
struct Patch {
  int64_t vectors, row;   // of a row; floats
  int64_t first_vectors;  // that windows in the first column fill
};
TENON_INLINE Patch PatchOf(const ConvPoolShape& s) {
  const int64_t vectors = CeilDiv((s.kw + 1) * s.c, kLanes);
  return {vectors, vectors * kLanes, CeilDiv(s.kw * s.c, kLanes)};
}
TENON_INLINE int64_t PatchWeights(const ConvPoolShape& s) { return s.oc * 2 * s.kh * PatchOf(s).row; }
// Where the patch fits in the registers, and the weights in the first-level cache.
TENON_INLINE bool UsePatches(const ConvPoolShape& s) {
  constexpr int64_t kMostWeights = 10 * 1024;
  return kLanes == 16 && s.pool_h == 2 && s.pool_w == 2 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 &&
         s.dilation_w == 1 && (s.kh == 3 || s.kh == 5) && PatchOf(s).vectors <= 4 && PatchWeights(s) <= kMostWeights;
}

void PackPatchWeights(const ConvPoolShape& s, const Window& win, const float* weights, float* out) {
  const int64_t row = PatchOf(s).row, kernel = s.c * s.kh * s.kw;
  for (int64_t i = 0; i < PatchWeights(s); i += kLanes) Store(out + i, Zero());
  for (int64_t r = 0; r < s.kh; ++r)
    for (int64_t t = 0; t < win.length; ++t) {
      const float* from = weights + WeightIndex(s, win, r, t);
      float* to = out + r * row + t;
      for (int64_t o = 0; o < s.oc; ++o, to += 2 * s.kh * row) to[0] = to[s.kh * row + s.c] = from[o * kernel];
    }
}

// What won in row I and column J of the pool; V of the W vectors of a row.
template <int KH, int W, int V, int I, int J>
TENON_INLINE void AddPosition(int64_t channels, const float* g, const uint8_t* winners, const float* weights,
                              Vec (&acc)[KH + 1][W]) {
  for (int64_t c = 0; c < channels; c += 64) {
    uint64_t live = LiveChannels(g + c, winners + c, Min(64, channels - c), 2 * I + J);
    for (; live != 0; live &= live - 1) {
      const int64_t o = c + __builtin_ctzll(live);
      const Vec value = Set(g[o]);
      const float* w = weights + (o * 2 + J) * (KH * W * kLanes);
      TENON_UNROLL for (int r = 0; r < KH; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r + I][v] +=
          value * Load(w + (r * W + v) * kLanes);
    }
  }
}

// Neighbouring pooled pixels. dx: the patch of the first; step: floats to the next.
template <int KH, int W, int FIRST>
__attribute__((noinline)) void AddPatches(int64_t channels, int64_t pixels, const float* g, const uint8_t* winners,
                                          const float* weights, float* dx, int64_t step, int64_t row) {
  for (int64_t p = 0; p < pixels; ++p, g += channels, winners += channels, dx += step) {
    Vec acc[KH + 1][W] = {};
    AddPosition<KH, W, FIRST, 0, 0>(channels, g, winners, weights, acc);
    AddPosition<KH, W, W, 0, 1>(channels, g, winners, weights, acc);
    AddPosition<KH, W, FIRST, 1, 0>(channels, g, winners, weights, acc);
    AddPosition<KH, W, W, 1, 1>(channels, g, winners, weights, acc);
    TENON_UNROLL for (int r = 0; r <= KH; ++r) TENON_UNROLL for (int v = 0; v < W; ++v) {
      float* to = dx + r * row + v * kLanes;
      Store(to, Load(to) + acc[r][v]);
    }
  }
}

using AddPatchesFn = void (*)(int64_t, int64_t, const float*, const uint8_t*, const float*, float*, int64_t, int64_t);
template <int KH>
TENON_INLINE AddPatchesFn PatchesOf(const Patch& p) {
  static constexpr AddPatchesFn kFilled[] = {&AddPatches<KH, 1, 1>, &AddPatches<KH, 2, 2>, &AddPatches<KH, 3, 3>,
                                             &AddPatches<KH, 4, 4>};
  static constexpr AddPatchesFn kLess[] = {nullptr, &AddPatches<KH, 2, 1>, &AddPatches<KH, 3, 2>,
                                           &AddPatches<KH, 4, 3>};
  return (p.first_vectors == p.vectors ? kFilled : kLess)[p.vectors - 1];
}

// dx of one image, channel-last with the padding, from g and winners [pixel][channel].
void PatchImage(const ConvPoolShape& s, const Image& image, const float* weights, const float* g,
                const uint8_t* winners, float* dx) {
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW(), pixels = pooled_w * s.oc;
  const AddPatchesFn add = s.kh == 3 ? PatchesOf<3>(PatchOf(s)) : PatchesOf<5>(PatchOf(s));
  for (int64_t i = 0; i < image.size + kSlack; i += kLanes) StorePartial(dx + i, Zero(), image.size + kSlack - i);
  for (int64_t ph = 0; ph < pooled_h; ++ph, g += pixels, winners += pixels)
    add(s.oc, pooled_w, g, winners, weights, dx + ph * s.pool_stride_h * image.row, s.pool_stride_w * s.c, image.row);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

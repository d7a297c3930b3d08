// Register tiles of the convolution's gradients.
#pragma once

#include "plugins/device_cpu/compute/conv_image.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {
// dw of one output channel block: ROWS runs by V vectors for NC channels, summed over pooled pixels of several images.
struct WeightSum {
  const ConvPoolShape* s;
  const float* g;  // [image][pooled][oc], masked
  int64_t g_image;
  const uint8_t* winners;  // same order, or null
  const int64_t* offsets;  // by winner: floats from the window of position 0
  int64_t pooled_h, pooled_w;
  int64_t step_h, step_w;  // floats in the image per pooled row and column
  int64_t run_stride;      // between the ROWS runs
};

template <int ROWS, int V, int NC>
__attribute__((noinline)) void SumWeights(const WeightSum& w, const float* const* images, int64_t count,
                                          int64_t x_offset, int64_t first_image, int64_t oc, float* sums,
                                          int64_t sum_run, int64_t sum_channel) {
  Vec acc[NC][ROWS][V];
  TENON_UNROLL for (int n = 0; n < NC; ++n) TENON_UNROLL for (int r = 0; r < ROWS; ++r)
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[n][r][v] = Load(sums + n * sum_channel + r * sum_run + v * kLanes);
  const int64_t channels = w.s->oc, run_stride = w.run_stride, step_w = w.step_w, pooled_w = w.pooled_w;
  const int64_t* const offsets = w.offsets;
  for (int64_t i = 0; i < count; ++i) {
    const float* g = w.g + (first_image + i) * w.g_image + oc;
    const uint8_t* winners = w.winners == nullptr ? nullptr : w.winners + (first_image + i) * w.g_image + oc;
    for (int64_t ph = 0; ph < w.pooled_h; ++ph) {
      const float* x = images[i] + x_offset + ph * w.step_h;
      for (int64_t pw = 0; pw < pooled_w; ++pw, x += step_w, g += channels) {
        TENON_UNROLL for (int n = 0; n < NC; ++n) {
          const float* from = winners == nullptr ? x : x + offsets[winners[n]];
          const Vec value = Set(g[n]);
          TENON_UNROLL for (int r = 0; r < ROWS; ++r) {
            TENON_UNROLL for (int v = 0; v < V; ++v) acc[n][r][v] += value * Load(from + v * kLanes);
            from += run_stride;
          }
        }
        if (winners != nullptr) winners += channels;
      }
    }
  }
  TENON_UNROLL for (int n = 0; n < NC; ++n) TENON_UNROLL for (int r = 0; r < ROWS; ++r)
      TENON_UNROLL for (int v = 0; v < V; ++v) Store(sums + n * sum_channel + r * sum_run + v * kLanes, acc[n][r][v]);
}

// dw without a pool: T elements of a run by V vectors of output channels, summed over the pixels of one image. g
// [pixel][V * kLanes], sums [run][element][channel].
template <int T, int V>
void SumDense(const WeightSum& w, const float* x, const float* g, float* sums, int64_t sum_element) {
  Vec acc[T][V];
  TENON_UNROLL for (int t = 0; t < T; ++t) TENON_UNROLL for (int v = 0; v < V; ++v) acc[t][v] =
      Load(sums + t * sum_element + v * kLanes);
  for (int64_t ph = 0; ph < w.pooled_h; ++ph) {
    const float* from = x + ph * w.step_h;
    for (int64_t pw = 0; pw < w.pooled_w; ++pw, from += w.step_w, g += V * kLanes) {
      Vec value[V];
      TENON_UNROLL for (int v = 0; v < V; ++v) value[v] = Load(g + v * kLanes);
      TENON_UNROLL for (int t = 0; t < T; ++t) {
        const Vec element = Set(from[t]);
        TENON_UNROLL for (int v = 0; v < V; ++v) acc[t][v] += element * value[v];
      }
    }
  }
  TENON_UNROLL for (int t = 0; t < T; ++t) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(sums + t * sum_element + v * kLanes, acc[t][v]);
}

using SumDenseFn = void (*)(const WeightSum&, const float*, const float*, float*, int64_t);
template <int V, int... T>
TENON_INLINE void CallSumDense(int64_t elements, const WeightSum& w, const float* x, const float* g, float* sums,
                               int64_t sum_element) {
  static constexpr SumDenseFn kTable[] = {&SumDense<T, V>...};
  kTable[elements - 1](w, x, g, sums, sum_element);
}

// dx: adds g times the weights of the channels whose winner is at this offset to ROWS runs of the window.
template <int ROWS, int V>
void SpreadWeights(uint64_t live, const float* g, const float* weights, int64_t weight_run, int64_t weight_channel,
                   float* dx, int64_t run_stride) {
  Vec acc[ROWS][V];
  TENON_UNROLL for (int r = 0; r < ROWS; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] =
      Load(dx + r * run_stride + v * kLanes);
  do {
    const int oc = __builtin_ctzll(live);
    live &= live - 1;
    const Vec value = Set(g[oc]);
    const float* w = weights + oc * weight_channel;
    TENON_UNROLL for (int r = 0; r < ROWS; ++r) {
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] += value * Load(w + v * kLanes);
      w += weight_run;
    }
  } while (live != 0);
  TENON_UNROLL for (int r = 0; r < ROWS; ++r) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(dx + r * run_stride + v * kLanes, acc[r][v]);
}

// Runs are taken in groups that keep `most` accumulators; `f` gets the constants ROWS and V.
constexpr int kMaxV = 4;
template <int N>
struct Int {
  static constexpr int value = N;
};
constexpr int MaxRows(int v) { return kAccumulators / v < 8 ? kAccumulators / v : 8; }
template <int V, int R, class F>
TENON_INLINE void WithRows(int64_t rows, const F& f) {
  if constexpr (R > 0) {
    if (rows == R)
      f(Int<R>{}, Int<V>{});
    else
      WithRows<V, R - 1>(rows, f);
  }
}
template <class F>
TENON_INLINE void WithTile(int64_t rows, int64_t v, const F& f) {
  switch (v) {
    case 1:
      return WithRows<1, MaxRows(1)>(rows, f);
    case 2:
      return WithRows<2, MaxRows(2)>(rows, f);
    case 3:
      return WithRows<3, MaxRows(3)>(rows, f);
    default:
      return WithRows<4, MaxRows(4)>(rows, f);
  }
}

// Calls f(first run, runs, first vector, vectors) so that the pieces cover runs x vectors; the runs of a piece are
// equally spaced.
template <class F>
TENON_INLINE void ForTiles(const Window& win, const F& f) {
  const int64_t per_row = win.per_row;
  for (int64_t v0 = 0; v0 < win.vectors;) {
    const int64_t blocks = CeilDiv(win.vectors - v0, kMaxV);
    const int64_t v = CeilDiv(win.vectors - v0, blocks);
    const int64_t most = MaxRows(static_cast<int>(v));
    // Equally spaced: all runs if a kernel row is one run, else the runs of one kernel row.
    const int64_t group = per_row == 1 ? win.runs : per_row;
    for (int64_t base = 0; base < win.runs; base += group) {
      const int64_t parts = CeilDiv(group, most);
      for (int64_t i = 0; i < parts; ++i) {
        const Range r = Piece(group, parts, i);
        f(base + r.begin, r.end - r.begin, v0, v);
      }
    }
    v0 += v;
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

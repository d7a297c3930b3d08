// Forward with one input channel: lanes are neighbouring columns, a tile is some output channels by two vectors.
#pragma once

#include "plugins/device_cpu/compute/conv_pooled_columns.h"
#include "plugins/device_cpu/compute/conv_rows.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {
// One input channel makes pixels contiguous; few output channels would leave lanes of the other form empty.
TENON_INLINE bool UseColumns(const ConvPoolShape& s) {
  const bool pool = s.pool_h == 2 && s.pool_w == 2 && s.pool_stride_h == 2 && s.pool_stride_w == 2;
  const bool none = s.pool_h == 1 && s.pool_w == 1 && s.pool_stride_h == 1 && s.pool_stride_w == 1;
  return s.c == 1 && s.stride_w == 1 && (pool || none) && s.oc % (2 * kLanes) != 0 && !PooledColumns(s);
}

constexpr int kColumnChannels = kAccumulators / 2;

// CT channels by V vectors of columns; weights [tap][CT]; out [channel][out_row].
template <int CT, int V>
void ColumnTile(const ConvPoolShape& s, const float* x, int64_t row, const float* weights, float* out,
                int64_t out_row) {
  Vec acc[CT][V];
  TENON_UNROLL for (int c = 0; c < CT; ++c) TENON_UNROLL for (int v = 0; v < V; ++v) acc[c][v] = Zero();
  for (int64_t kh = 0; kh < s.kh; ++kh) {
    const float* from = x + kh * s.dilation_h * row;
    for (int64_t kw = 0; kw < s.kw; ++kw, from += s.dilation_w, weights += CT) {
      Vec value[V];
      TENON_UNROLL for (int v = 0; v < V; ++v) value[v] = Load(from + v * kLanes);
      TENON_UNROLL for (int c = 0; c < CT; ++c) {
        const Vec w = Set(weights[c]);
        TENON_UNROLL for (int v = 0; v < V; ++v) acc[c][v] += w * value[v];
      }
    }
  }
  TENON_UNROLL for (int c = 0; c < CT; ++c) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(out + c * out_row + v * kLanes, acc[c][v]);
}

using ColumnTileFn = void (*)(const ConvPoolShape&, const float*, int64_t, const float*, float*, int64_t);
template <int V, int... CT>
TENON_INLINE void CallColumnTile(int64_t channels, const ConvPoolShape& s, const float* x, int64_t row,
                                 const float* weights, float* out, int64_t out_row) {
  static constexpr ColumnTileFn kTable[] = {&ColumnTile<CT, V>...};
  kTable[channels - 1](s, x, row, weights, out, out_row);
}

// All channels of one row of convolution output, as [channel][out_row].
TENON_INLINE void ColumnRow(const ConvPoolShape& s, const float* x, int64_t row, const float* weights, int64_t columns,
                            float* out, int64_t out_row) {
  const int64_t groups = CeilDiv(s.oc, kColumnChannels), taps = s.kh * s.kw;
  for (int64_t g = 0; g < groups; ++g) {
    const Range c = Piece(s.oc, groups, g);
    const int64_t channels = c.end - c.begin;
    const float* w = weights + c.begin * taps;
    float* to = out + c.begin * out_row;
    for (int64_t column = 0; column < columns; column += 2 * kLanes) {
#if TENON_CPU_LANES == 16
#define TENON_CHANNELS 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
#else
#define TENON_CHANNELS 1, 2, 3, 4, 5, 6
#endif
      if (columns - column > kLanes)
        CallColumnTile<2, TENON_CHANNELS>(channels, s, x + column, row, w, to + column, out_row);
      else
        CallColumnTile<1, TENON_CHANNELS>(channels, s, x + column, row, w, to + column, out_row);
#undef TENON_CHANNELS
    }
  }
}

// Up to kLanes pooled pixels of up to kLanes channels: values [channel][pixel], winners as bytes of words
// [channel / 4][pixel].
template <bool kPool>
TENON_INLINE void PoolBlock(const ConvPoolShape& s, const PoolRow& r, const float* bias, int64_t p0, int64_t c0,
                            int64_t channels, Vec (&value)[kLanes], IVec (&words)[kLanes / 4]) {
  const int64_t second = s.oc * r.row;  // the other row of the pool
  for (int w = 0; w < kLanes / 4; ++w) words[w] = IVec{};
  for (int64_t c = 0; c < channels; ++c) {
    const float* from = r.rows + (c0 + c) * r.row + (kPool ? 2 : 1) * p0;
    Vec best;
    if constexpr (kPool) {
      Vec v0, v1, v2, v3;
      IVec position;
      Deinterleave(Load(from), Load(from + kLanes), v0, v1);
      Deinterleave(Load(from + second), Load(from + second + kLanes), v2, v3);
      MaxOfFour(v0, v1, v2, v3, best, position);
      words[c / 4] |= position << static_cast<int32_t>(c % 4 * 8);
    } else {
      best = Load(from);
    }
    best += Set(bias[c0 + c]);
    value[c] = s.relu ? Relu(best) : best;
  }
}

// Pools rows [channel][row] into pooled pixels with the channels last (or as the strides of y say).
template <bool kPool>
void PoolColumns(const ConvPoolShape& s, const PoolRow& r, const float* bias, int64_t pooled) {
  const bool dense = r.y_c == 1 && r.y_w == s.oc;
  for (int64_t p0 = 0; p0 < pooled; p0 += kLanes) {
    const int64_t pixels = Min(kLanes, pooled - p0);
    for (int64_t c0 = 0; c0 < s.oc; c0 += kLanes) {
      const int64_t channels = Min(kLanes, s.oc - c0);
      Vec value[kLanes];
      for (int64_t c = channels; c < kLanes; ++c) value[c] = Zero();
      IVec words[kLanes / 4];
      PoolBlock<kPool>(s, r, bias, p0, c0, channels, value, words);
      // With a single block of channels the lanes beyond them fall on the next pixels, which are written afterwards.
      const int64_t first = p0 * s.oc + c0;
      const int64_t whole = channels == kLanes ? pixels
                            : c0 > 0           ? 0
                                               : Max(0, Min(pixels, (r.room - kLanes - first + s.oc) / s.oc));
      if (dense) {
        Transpose(value);
        for (int64_t p = 0; p < whole; ++p) Store(r.y + first + p * s.oc, value[p]);
        for (int64_t p = whole; p < pixels; ++p) StorePartial(r.y + first + p * s.oc, value[p], channels);
      } else {
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t p = 0; p < pixels; ++p) r.y[(p0 + p) * r.y_w + (c0 + c) * r.y_c] = value[c][p];
      }
      if (r.winners == nullptr) continue;
      alignas(64) int32_t bytes[kLanes / 4][kLanes];
      for (int w = 0; w < kLanes / 4; ++w) *reinterpret_cast<IVecAny*>(bytes[w]) = words[w];
      for (int64_t p = 0; p < pixels; ++p) {
        uint8_t* to = r.winners + first + p * s.oc;
        for (int64_t w = 0; w * 4 < channels; ++w) {
          const unsigned long count =
              p < whole || channels - 4 * w >= 4 ? 4 : static_cast<unsigned long>(channels - 4 * w);
          if (count == 4)
            __builtin_memcpy(to + 4 * w, &bytes[w][p], 4);
          else
            __builtin_memcpy(to + 4 * w, &bytes[w][p], count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

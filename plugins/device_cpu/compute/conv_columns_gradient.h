// Gradient of the weights before a pool of 2 x 2 with one input channel: lanes are pooled columns. What each of them multiplies
// with is chosen by its winner from the columns and rows of the image, then all taps are sums over vectors.
#pragma once

#include "plugins/device_cpu/compute/conv_column_table.h"
#include "plugins/device_cpu/compute/max_of_four.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Rows and columns of taps that are summed at once, beside the image's vectors.
constexpr int kTapRows = 3, kTapColumns = 5;

// Where the winners of a vector of windows are.
struct Sides {
  Choice right, lower;
};

// Pooled gradients [channel][vector of pooled columns][row][kLanes], zero beyond the last column, and the sides of their winners.
struct TurnedGradient {
  float* g;
  Sides* sides;
  TENON_INLINE TurnedGradient operator+(int64_t vectors) const { return {g + vectors * kLanes, sides + vectors}; }
};
constexpr int64_t kTurnedFloats = kLanes + static_cast<int64_t>(sizeof(Sides) / sizeof(float));

// Keeps a value in its register, where the compiler would load it again.
TENON_INLINE void Keep(Vec& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#else
  (void)v;
#endif
}

// Adds to sums [R][K][kLanes] of taps; `table` begins at the first of them. Of each vector `count` of `all` rows.
template <int R, int K>
__attribute__((noinline)) void AddTapGradients(const ColumnTable& t, const float* table, TurnedGradient of,
                                               int64_t count, int64_t all, float* sums, int64_t sum_row) {
  Vec acc[R][K];
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int k = 0; k < K; ++k) acc[r][k] =
      Load(sums + r * sum_row + k * kLanes);
  const int64_t row = t.row;
  for (int64_t v = 0; v < t.vectors; ++v, table += t.vector, of = of + all) {
    const float* x = table;
    for (int64_t i = 0; i < count; ++i, x += 2 * row) {
      const Choice right = of.sides[i].right, lower = of.sides[i].lower;
      const Vec value = Load(of.g + i * kLanes);
      Vec left[R + 1];
      TENON_UNROLL for (int r = 0; r <= R; ++r) left[r] = Load(x + r * row);
      TENON_UNROLL for (int k = 0; k < K; ++k) {
        Vec chosen[R + 1];
        TENON_UNROLL for (int r = 0; r <= R; ++r) {
          Vec next = Load(x + r * row + (k + 1) * kLanes);
          Keep(next);
          chosen[r] = Choose(right, next, left[r]);
          left[r] = next;
        }
        TENON_UNROLL for (int r = 0; r < R; ++r) acc[r][k] += value * Choose(lower, chosen[r + 1], chosen[r]);
      }
    }
  }
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int k = 0; k < K; ++k)
      Store(sums + r * sum_row + k * kLanes, acc[r][k]);
}

using AddTapGradientsFn = void (*)(const ColumnTable&, const float*, TurnedGradient, int64_t, int64_t, float*, int64_t);
template <int R>
TENON_INLINE AddTapGradientsFn TapColumns(int64_t columns) {
  static constexpr AddTapGradientsFn kTable[] = {&AddTapGradients<R, 1>, &AddTapGradients<R, 2>, &AddTapGradients<R, 3>,
                                                 &AddTapGradients<R, 4>, &AddTapGradients<R, 5>};
  return kTable[columns - 1];
}
TENON_INLINE AddTapGradientsFn TapTile(int64_t rows, int64_t columns) {
  return rows == 3 ? TapColumns<3>(columns) : rows == 2 ? TapColumns<2>(columns) : TapColumns<1>(columns);
}

// What to take next of `left` when `most` go at once.
TENON_INLINE int64_t Next(int64_t left, int64_t most) {
  return left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
}

// All taps of one channel and the sum of its gradients, sums [kh * kw + 1][kLanes], over `count` pooled rows from the first of
// `table` and `of` on.
TENON_INLINE void AddChannelGradients(const ConvPoolShape& s, const ColumnTable& t, const float* table,
                                      const TurnedGradient& of, int64_t count, int64_t all, float* sums) {
  const int64_t kh = s.kh, kw = s.kw;
  for (int64_t r = 0, rows; r < kh; r += rows) {
    rows = Next(kh - r, kTapRows);
    for (int64_t k = 0, columns; k < kw; k += columns) {
      columns = Next(kw - k, kTapColumns);
      TapTile(rows, columns)(t, table + r * t.row + k * kLanes, of, count, all, sums + (r * kw + k) * kLanes,
                             kw * kLanes);
    }
  }
  float* bias = sums + kh * kw * kLanes;
  Vec sum = Load(bias), other = Zero();
  for (int64_t v = 0; v < t.vectors; ++v) {
    const float* g = of.g + v * all * kLanes;
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) sum += Load(g + i * kLanes), other += Load(g + (i + 1) * kLanes);
    if (i < count) sum += Load(g + i * kLanes);
  }
  Store(bias, sum + other);
}

// Channels [c0, c0 + count) of one vector of pooled columns.
TENON_INLINE void PutTurned(const Vec* block, int64_t count, IVec inside, const uint8_t* winners, int64_t columns,
                            int64_t room, TurnedGradient out, int64_t channel) {
  for (int64_t c = 0; c < count; ++c, winners += columns, room -= columns, out = out + channel) {
    const IVec where = room >= kLanes ? LoadBytes(winners) : LoadBytes(winners, room);
    Store(out.g, KeepWhere(inside, block[c]));
    *out.sides = {HasBit(where, 1), HasBit(where, 2)};
  }
}

// g of an image, [pixel][channel] with kSlack floats more, and its winners, [row][channel][column].
void TurnGradient(const ConvPoolShape& s, const ColumnTable& t, const float* g, const uint8_t* winners,
                  const TurnedGradient& out) {
  const int64_t pooled_h = s.PooledH(), columns = t.columns, channel = t.vectors * pooled_h, oc = s.oc;
  for (int64_t p = 0; p < columns; p += kLanes) {
    const IVec inside = FirstLanes(columns - p);
    const int64_t last = columns - p - 1;
    int64_t room = pooled_h * oc * columns - p;
    for (int64_t h = 0; h < pooled_h; ++h, room -= oc * columns) {
      const float* from = g + (h * columns + p) * oc;
      const uint8_t* at = winners + h * oc * columns + p;
      const TurnedGradient to = out + (p / kLanes * pooled_h + h);
      if (oc <= kHalf) {
        Vec block[kHalf];
        TENON_UNROLL for (int i = 0; i < kHalf; ++i) block[i] =
            LoadHalves(from + Min(i, last) * oc, from + Min(i + kHalf, last) * oc);
        TransposeHalves(block);
        PutTurned(block, oc, inside, at, columns, room, to, channel);
        continue;
      }
      for (int64_t c = 0; c < oc; c += kLanes) {
        Vec block[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) block[i] = Load(from + Min(i, last) * oc + c);
        Transpose(block);
        PutTurned(block, Min(kLanes, oc - c), inside, at + c * columns, columns, room - c * columns, to + c * channel,
                  channel);
      }
    }
  }
}

// Winners of an image, [row][channel][column], as [pixel][channel].
void TurnWinners(const ConvPoolShape& s, const uint8_t* winners, uint8_t* out) {
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW();
  for (int64_t h = 0; h < pooled_h; ++h)
    for (int64_t c = 0; c < s.oc; ++c)
      for (int64_t w = 0; w < pooled_w; ++w) out[(h * pooled_w + w) * s.oc + c] = *winners++;
}

// Sums of the lanes of `count` vectors.
void SumLanesOf(const float* vectors, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t here = Min(kLanes, count - i);
    Vec block[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) block[j] = Load(vectors + (i + Min(j, here - 1)) * kLanes);
    Transpose(block);
    TENON_UNROLL for (int half = kLanes / 2; half > 0; half /= 2) TENON_UNROLL for (int j = 0; j < half; ++j)
        block[j] += block[j + half];
    StorePartial(out + i, block[0], here);
  }
}

// Pooled rows whose part of the table stays in the first-level cache.
TENON_INLINE int64_t BandRows(const ConvPoolShape& s, const ColumnTable& t) {
  constexpr int64_t kTableFloats = 6 * 1024;
  return Min(s.PooledH(), Max(4, (kTableFloats / t.row - s.kh + 1) / 2));
}
// Floats that SumColumnChannels needs beside sums.
TENON_INLINE int64_t ColumnSpace(const ConvPoolShape& s) {
  const ColumnTable t = ColumnTableOf(s);
  return RoundUp(s.h * s.w, 16) + (2 * BandRows(s, t) + s.kh) * t.row;
}

// dw and db of some channels. g: of all images as TurnGradient leaves it. sums: [channel][tap or bias][kLanes] of all channels.
void SumColumnChannels(const ConvPoolBackwardArgs& a, const TurnedGradient& g, Range channels, float* space,
                       float* sums) {
  const ConvPoolShape& s = a.shape;
  const ColumnTable t = ColumnTableOf(s);
  const int64_t pooled_h = s.PooledH(), taps = s.kh * s.kw, band = BandRows(s, t), channel = t.vectors * pooled_h;
  float* table = space + RoundUp(s.h * s.w, 16);
  for (int64_t i = channels.begin * (taps + 1); i < channels.end * (taps + 1); ++i) Store(sums + i * kLanes, Zero());
  for (int64_t n = 0; n < s.n; ++n) {
    int64_t row;
    const float* x = SideBySide(s, a.x + n * a.x_strides.n, a.x_strides, space, row);
    for (int64_t first = 0; first < pooled_h; first += band) {
      const int64_t rows = Min(band, pooled_h - first);
      FillColumns(s, t, x, row, {2 * first, 2 * (first + rows) + s.kh - 1}, table);
      for (int64_t c = channels.begin; c < channels.end; ++c)
        AddChannelGradients(s, t, table, g + (n * s.oc + c) * channel + first, rows, pooled_h,
                            sums + c * (taps + 1) * kLanes);
    }
  }
  for (int64_t c = channels.begin; c < channels.end; ++c) {
    const float* from = sums + c * (taps + 1) * kLanes;
    SumLanesOf(from, taps, a.dw + c * taps);
    if (a.db != nullptr) SumLanesOf(from + taps * kLanes, 1, a.db + c);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

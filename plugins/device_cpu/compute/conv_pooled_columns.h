// Convolution of one input channel before a pool of 2 x 2: lanes are pooled columns, so that the four values of a window are four
// vectors.
#pragma once

#include "plugins/device_cpu/compute/conv_column_table.h"
#include "plugins/device_cpu/compute/max_of_four.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kPooledChannels = 6;

// Weights [group][tap][channels of the group].
void PackColumnWeights(const ConvPoolShape& s, int64_t most, const float* weights, float* out) {
  const int64_t groups = CeilDiv(s.oc, most), taps = s.kh * s.kw;
  for (int64_t g = 0; g < groups; ++g) {
    const Range c = Piece(s.oc, groups, g);
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t o = c.begin; o < c.end; ++o) *out++ = weights[o * taps + t];
  }
}

// Where the results of a vector of pooled columns go.
struct PooledVector {
  const float* bias;
  float* values;     // [channel][kLanes]
  uint8_t* winners;  // of the first channel, or null
  int64_t channel;   // from one row of winners to the next
  int64_t columns;   // pooled columns in the vector
  bool ascending;    // rows of winners are written one after the other: lanes beyond the columns are corrected
  int64_t room;      // winners from the first channel's to the end of the image
};

template <int CT>
void PooledColumnTile(const ConvPoolShape& s, const float* table, int64_t row, const float* weights,
                      const PooledVector& to) {
  Vec sums[CT][4] = {};
  for (int64_t kh = 0; kh < s.kh; ++kh, table += row) {
    const float* from = table;
    for (int64_t kw = 0; kw < s.kw; ++kw, weights += CT, from += kLanes) {
      Vec value[4];
      TENON_UNROLL for (int q = 0; q < 4; ++q) value[q] = Load(from + q / 2 * row + q % 2 * kLanes);
      TENON_UNROLL for (int c = 0; c < CT; ++c) {
        const Vec w = Set(weights[c]);
        TENON_UNROLL for (int q = 0; q < 4; ++q) sums[c][q] += w * value[q];
      }
    }
  }
  TENON_UNROLL for (int c = 0; c < CT; ++c) {
    const Winner winner = MaxOfFour(sums[c][0], sums[c][1], sums[c][2], sums[c][3]);
    const Vec best = winner.best + Set(to.bias[c]);
    Store(to.values + c * kLanes, s.relu ? Relu(best) : best);
    if (to.winners == nullptr) continue;
    uint8_t* at = to.winners + c * to.channel;
    if (to.columns == kLanes || (to.ascending && to.room - c * to.channel >= kLanes))
      StoreNumbers(at, winner);
    else
      StoreNumbers(at, winner, to.columns);
  }
}

using PooledColumnTileFn = void (*)(const ConvPoolShape&, const float*, int64_t, const float*, const PooledVector&);
TENON_INLINE void CallPooledColumnTile(int64_t channels, const ConvPoolShape& s, const float* table, int64_t row,
                                       const float* weights, const PooledVector& to) {
  static constexpr PooledColumnTileFn kTable[] = {&PooledColumnTile<1>, &PooledColumnTile<2>, &PooledColumnTile<3>,
                                                  &PooledColumnTile<4>, &PooledColumnTile<5>, &PooledColumnTile<6>};
  kTable[channels - 1](s, table, row, weights, to);
}

// Up to half a vector of channels side by side. Lanes beyond them fall on the next pixels, which are written afterwards.
TENON_INLINE void StoreFewChannels(int64_t channels, const float* values, int64_t columns, float* y, int64_t room) {
  Vec block[kHalf];
  TENON_UNROLL for (int c = 0; c < kHalf; ++c) block[c] = c < channels ? Load(values + c * kLanes) : Zero();
  TransposeHalves(block);
  if (columns >= kHalf && room - columns * channels >= kLanes) {
    TENON_UNROLL for (int p = 0; p < kHalf; ++p) StoreLowHalf(y + p * channels, block[p]);
    y += kHalf * channels;
    TENON_UNROLL for (int p = 0; p < kHalf; ++p) if (p + kHalf < columns) StoreHighHalf(y + p * channels, block[p]);
    return;
  }
  for (int64_t p = 0; p < columns; ++p)
    for (int64_t c = 0; c < channels; ++c) y[p * channels + c] = values[c * kLanes + p];
}

// Values [channel][kLanes] of some columns to y. room: floats from the first of them to the end of the dense image.
TENON_INLINE void StoreColumns(const ConvPoolShape& s, const float* values, int64_t columns, float* y, int64_t y_w,
                               int64_t y_c, int64_t room) {
  if (y_w == 1) {
    for (int64_t c = 0; c < s.oc; ++c) StorePartial(y + c * y_c, Load(values + c * kLanes), columns);
    return;
  }
  if (y_c != 1 || y_w != s.oc) {
    for (int64_t c = 0; c < s.oc; ++c)
      for (int64_t p = 0; p < columns; ++p) y[p * y_w + c * y_c] = values[c * kLanes + p];
    return;
  }
  if (s.oc <= kHalf) return StoreFewChannels(s.oc, values, columns, y, room);
  for (int64_t c0 = 0; c0 < s.oc; c0 += kLanes) {
    const int64_t channels = Min(kLanes, s.oc - c0);
    Vec block[kLanes];
    for (int64_t c = 0; c < kLanes; ++c) block[c] = c < channels ? Load(values + (c0 + c) * kLanes) : Zero();
    Transpose(block);
    for (int64_t p = 0; p < columns; ++p) StorePartial(y + p * s.oc + c0, block[p], channels);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

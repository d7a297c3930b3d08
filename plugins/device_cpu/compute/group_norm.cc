#include "plugins/device_cpu/compute/group_norm.h"

#include "plugins/device_cpu/compute/column_sums.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/row_sums.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Groups that one piece of work normalises: neighbouring ones of one sample. Arrays by channel count from the first one.
struct Part {
  int64_t first = 0, channels = 0;  // of the sample
  int64_t begin = 0;                // first value in the tensor
};

// Whole samples when channels are neighbours in memory, else one group.
TENON_INLINE int64_t PartsIn(const GroupNormShape& s) { return s.samples * (s.channel_last ? 1 : s.groups); }
TENON_INLINE Part PartOf(const GroupNormShape& s, int64_t i) {
  if (s.channel_last) return {0, s.channels, i * s.channels * s.area};
  const int64_t channels = s.channels / s.groups;
  return {i % s.groups * channels, channels, i * channels * s.area};
}

// Numbers per channel as the lanes of a vector see them.
struct Lanes {
  int64_t channel, count;
  bool channel_last;
  TENON_INLINE Vec operator()(const float* by_channel) const {
    return channel_last ? LoadPartial(by_channel + channel, count) : Set(by_channel[channel]);
  }
};

constexpr int64_t kRowsOfATile = 64;  // stay in the nearest cache while all their channels are walked

// Calls term(at, count, sums) for all values of the part, where make(lanes) makes `term` for some channels; adds up what it
// adds to sums[k] by channel in by_channel[k].
template <int kSums, bool kLast, class Make>
TENON_INLINE void SumChannels(const GroupNormShape& s, const Part& part, float* const (&by_channel)[kSums],
                              const Make& make) {
  if constexpr (kLast) {
    for (float* const sums : by_channel) ClearSums(sums, part.channels);
    for (int64_t begin = 0; begin < s.area; begin += kRowsOfATile) {
      const int64_t end = Min(s.area, begin + kRowsOfATile);
      for (int64_t c = 0; c < part.channels; c += kLanes) {
        const int64_t count = Min(kLanes, part.channels - c);
        const auto term = make(Lanes{c, count, true});
        Vec sums[kSums] = {};
        for (int64_t r = begin; r < end; ++r) term(part.begin + r * s.channels + c, count, sums);
        for (int k = 0; k < kSums; ++k) AddTo(by_channel[k] + c, sums[k], count);
      }
    }
  } else {
    for (int64_t c = 0; c < part.channels; ++c) {
      const auto term = make(Lanes{c, kLanes, false});
      const int64_t begin = part.begin + c * s.area;
      Vec sums[2][kSums] = {};
      int64_t i = 0;
      for (; i + 2 * kLanes <= s.area; i += 2 * kLanes) {
        term(begin + i, kLanes, sums[0]);
        term(begin + i + kLanes, kLanes, sums[1]);
      }
      for (; i < s.area; i += kLanes) {
        const int64_t count = Min(kLanes, s.area - i);
        Vec tail[kSums] = {};
        term(begin + i, count, tail);
        for (int k = 0; k < kSums; ++k) sums[0][k] += FirstLanes(tail[k], count);
      }
      for (int k = 0; k < kSums; ++k) by_channel[k][c] = SumLanes(sums[0][k] + sums[1][k]);
    }
  }
}

// As SumChannels; term(at, count) writes.
template <bool kLast, class Make>
TENON_INLINE void ForChannels(const GroupNormShape& s, const Part& part, const Make& make) {
  if constexpr (kLast) {
    for (int64_t begin = 0; begin < s.area; begin += kRowsOfATile) {
      const int64_t end = Min(s.area, begin + kRowsOfATile);
      for (int64_t c = 0; c < part.channels; c += kLanes) {
        const int64_t count = Min(kLanes, part.channels - c);
        const auto term = make(Lanes{c, count, true});
        for (int64_t r = begin; r < end; ++r) term(part.begin + r * s.channels + c, count);
      }
    }
  } else {
    for (int64_t c = 0; c < part.channels; ++c) {
      const auto term = make(Lanes{c, kLanes, false});
      const int64_t begin = part.begin + c * s.area;
      for (int64_t i = 0; i < s.area; i += kLanes) term(begin + i, Min(kLanes, s.area - i));
    }
  }
}

// Calls f(first channel of the part, channels) for each of its groups.
template <class F>
TENON_INLINE void ForGroups(const GroupNormShape& s, const Part& part, const F& f) {
  const int64_t channels = s.channels / s.groups;
  for (int64_t c = 0; c < part.channels; c += channels) f(c, channels);
}

// by_channel: in, a sum per channel; out, for every channel what `of` makes of its group's sum.
template <class F>
TENON_INLINE void SpreadSums(const GroupNormShape& s, const Part& part, float* by_channel, const F& of) {
  ForGroups(s, part, [&](int64_t first, int64_t count) {
    double sum = 0;
    for (int64_t c = first; c < first + count; ++c) sum += static_cast<double>(by_channel[c]);
    const float value = of(sum);
    for (int64_t c = first; c < first + count; ++c) by_channel[c] = value;
  });
}

// Mean and inverse deviation of its group for each channel of the part.
template <bool kLast>
TENON_INLINE void Statistics(const GroupNormShape& s, const Part& part, const float* x, float* mean, float* inv_std) {
  const double share = 1.0 / static_cast<double>(s.channels / s.groups * s.area);
  float* const sums[1] = {mean};
  SumChannels<1, kLast>(s, part, sums, [&](Lanes) {
    return [=](int64_t at, int64_t count, Vec(&sum)[1]) { sum[0] += LoadPartial(x + at, count); };
  });
  SpreadSums(s, part, mean, [&](double sum) { return static_cast<float>(sum * share); });
  float* const squares[1] = {inv_std};
  SumChannels<1, kLast>(s, part, squares, [&](Lanes lanes) {
    const Vec middle = lanes(mean);
    return [=](int64_t at, int64_t count, Vec(&sum)[1]) {
      const Vec apart = LoadPartial(x + at, count) - middle;
      sum[0] += apart * apart;
    };
  });
  SpreadSums(s, part, inv_std, [&](double sum) {
    return static_cast<float>(1.0 / __builtin_sqrt(sum * share + static_cast<double>(s.epsilon)));
  });
}

template <bool kLast>
void NormPart(const GroupNormArgs& a, const Part& part, float* space, int64_t stride) {
  const GroupNormShape& s = a.shape;
  float *mean = space, *factor = space + stride, *shift = space + 2 * stride;
  Statistics<kLast>(s, part, a.x, mean, factor);
  const int64_t channels = s.channels / s.groups;
  for (int64_t c = 0; c < part.channels; ++c) {
    const int64_t at = a.scale_per_group ? (part.first + c) / channels : part.first + c;
    factor[c] *= a.scale[at];
    shift[c] = a.bias[at];
  }
  const float* x = a.x;
  float* y = a.y;
  ForChannels<kLast>(s, part, [&](Lanes lanes) {
    const Vec middle = lanes(mean), times = lanes(factor), plus = lanes(shift);
    return [=](int64_t at, int64_t count) {
      StorePartial(y + at, (LoadPartial(x + at, count) - middle) * times + plus, count);
    };
  });
}

// The workspace is a table: a row for each kind of number, a column for each channel of each sample. Leaves the sums of
// dy * xhat and of dy in the first two rows.
template <bool kLast>
void GradPart(const GroupNormGradArgs& a, const Part& part, float* space, int64_t stride) {
  const GroupNormShape& s = a.shape;
  float *d_scale = space, *d_bias = space + stride;
  float *mean = space + 2 * stride, *inv_std = space + 3 * stride, *factor = space + 4 * stride,
        *offset = space + 5 * stride;
  const float *x = a.x, *dy = a.dy, *scale = a.scale + part.first;
  Statistics<kLast>(s, part, x, mean, inv_std);
  float* const sums[2] = {d_scale, d_bias};
  SumChannels<2, kLast>(s, part, sums, [&](Lanes lanes) {
    const Vec middle = lanes(mean), inverse = lanes(inv_std);
    return [=](int64_t at, int64_t count, Vec(&sum)[2]) {
      const Vec d = LoadPartial(dy + at, count);
      sum[0] += d * ((LoadPartial(x + at, count) - middle) * inverse);
      sum[1] += d;
    };
  });
  if (a.dx == nullptr) return;
  // dx = dy * factor - (x - mean) * slope - offset
  const double share = 1.0 / static_cast<double>(s.channels / s.groups * s.area);
  ForGroups(s, part, [&](int64_t first, int64_t count) {
    double sum = 0, dot = 0;
    for (int64_t c = first; c < first + count; ++c) {
      sum += static_cast<double>(scale[c]) * static_cast<double>(d_bias[c]);
      dot += static_cast<double>(scale[c]) * static_cast<double>(d_scale[c]);
    }
    const auto inverse = static_cast<double>(inv_std[first]);
    for (int64_t c = first; c < first + count; ++c) {
      factor[c] = inv_std[c] * scale[c];
      inv_std[c] = static_cast<float>(inverse * inverse * dot * share);
      offset[c] = static_cast<float>(inverse * sum * share);
    }
  });
  float *dx = a.dx, *slope = inv_std;
  ForChannels<kLast>(s, part, [&](Lanes lanes) {
    const Vec middle = lanes(mean), times = lanes(factor), tilt = lanes(slope), minus = lanes(offset);
    return [=](int64_t at, int64_t count) {
      const Vec apart = LoadPartial(x + at, count) - middle;
      StorePartial(dx + at, LoadPartial(dy + at, count) * times - (apart * tilt + minus), count);
    };
  });
}

// Calls f(part, its place in the workspace) for all parts on the pool.
template <class F>
TENON_INLINE void ForParts(const GroupNormShape& s, double nanoseconds, float* workspace, const Parallel& pool,
                           const F& f) {
  if (s.channels * s.area == 0) return;
  const int64_t parts = PartsIn(s);
  const auto values = static_cast<double>(s.samples * s.channels * s.area);
  const int64_t pieces = Pieces(pool, parts, nanoseconds * values);
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range own = Piece(parts, pieces, piece);
    for (int64_t i = own.begin; i < own.end; ++i) {
      const Part part = PartOf(s, i);
      f(part, workspace + part.begin / s.area);
    }
  });
}

}  // namespace

void GroupNorm(const GroupNormArgs& a, float* workspace, const Parallel& pool) {
  const int64_t stride = RoundUp(a.shape.samples * a.shape.channels, 16);
  ForParts(a.shape, 0.4, workspace, pool, [&](const Part& part, float* space) {
    if (a.shape.channel_last)
      NormPart<true>(a, part, space, stride);
    else
      NormPart<false>(a, part, space, stride);
  });
}

void GroupNormGrad(const GroupNormGradArgs& a, float* workspace, const Parallel& pool) {
  const int64_t samples = a.shape.samples, channels = a.shape.channels, stride = RoundUp(samples * channels, 16);
  ForParts(a.shape, 0.8, workspace, pool, [&](const Part& part, float* space) {
    if (a.shape.channel_last)
      GradPart<true>(a, part, space, stride);
    else
      GradPart<false>(a, part, space, stride);
  });
  const int64_t summed = a.shape.area == 0 ? 0 : samples;
  if (a.d_scale != nullptr) SumParts(workspace, summed, channels, channels, a.d_scale);
  if (a.d_bias != nullptr) SumParts(workspace + stride, summed, channels, channels, a.d_bias);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

// Both poolings walk over output pixels; channel-last images take whole vectors of channels, other layouts one element at
// a time through the same code (a "lane block" of one).
#include "plugins/device_cpu/compute/pool.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/max_of_four.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The part of a window inside the image: positions [kh0, kh1) x [kw0, kw1), the first at (h, w).
struct Clip {
  int64_t kh0, kh1, kw0, kw1, h, w;
};
TENON_INLINE Range ClipAxis(int64_t first, int64_t dilation, int64_t kernel, int64_t size) {
  // No division where it can be avoided: this runs for every output.
  const int64_t begin = first >= 0 ? 0 : dilation == 1 ? -first : CeilDiv(-first, dilation);
  const int64_t end = first >= size ? 0 : dilation == 1 ? size - first : CeilDiv(size - first, dilation);
  return {Min(begin, kernel), Max(Min(begin, kernel), Min(end, kernel))};
}
TENON_INLINE Clip ClipOf(const PoolShape& s, int64_t oh, int64_t ow) {
  const int64_t h = oh * s.stride_h - s.pad_top, w = ow * s.stride_w - s.pad_left;
  const Range rh = ClipAxis(h, s.dilation_h, s.kernel_h, s.h), rw = ClipAxis(w, s.dilation_w, s.kernel_w, s.w);
  return {rh.begin, rh.end, rw.begin, rw.end, h + rh.begin * s.dilation_h, w + rw.begin * s.dilation_w};
}

TENON_INLINE bool ChannelLast(const Strides4& t) { return t.c == 1; }

TENON_INLINE double Nanoseconds(const PoolShape& s) {
  return 0.5 * static_cast<double>(s.n * s.c * s.out_h * s.out_w) * static_cast<double>(s.kernel_h * s.kernel_w);
}

// Calls f(n, c) for the planes, or f(n, 0) once per image for channel-last ones.
template <class F>
TENON_INLINE void Images(const PoolShape& s, bool channel_last, const Parallel& pool, const F& f) {
  const int64_t planes = channel_last ? 1 : s.c, units = s.n * planes;
  const int64_t pieces = Pieces(pool, units, Nanoseconds(s));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(units, pieces, i);
    for (int64_t u = r.begin; u < r.end; ++u) f(u / planes, u % planes);
  });
}

// ---- maximum

// One window, `count` channels from c on (channel-last).
TENON_INLINE void MaxVec(const PoolShape& s, const Clip& clip, const float* x, const Strides4& st, int64_t count,
                         float* y, uint8_t* winners) {
  Vec best = Set(-__builtin_inff());
  IVec where = SetI(255);
  for (int64_t i = clip.kh0; i < clip.kh1; ++i)
    for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
      const Vec v = LoadPartial(x + (i - clip.kh0) * s.dilation_h * st.h + (j - clip.kw0) * s.dilation_w * st.w, count);
      const IVec take = (v > best) | ((v != v) & (best == best)) | (where == 255);
      best = take ? v : best;
      where = take ? SetI(static_cast<int32_t>(i * s.kernel_w + j)) : where;
    }
  StorePartial(y, best, count);
  if (winners == nullptr) return;
  if (count == kLanes) return StoreBytes(winners, where);
  for (int64_t l = 0; l < count; ++l) winners[l] = static_cast<uint8_t>(where[l]);
}

TENON_INLINE void MaxOne(const PoolShape& s, const Clip& clip, const float* x, const Strides4& st, float* y,
                         uint8_t* winner) {
  float best = -__builtin_inff();
  int64_t where = 255;
  for (int64_t i = clip.kh0; i < clip.kh1; ++i)
    for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
      const float v = x[(i - clip.kh0) * s.dilation_h * st.h + (j - clip.kw0) * s.dilation_w * st.w];
      if (v > best || (v != v && best == best) || where == 255) best = v, where = i * s.kernel_w + j;
    }
  *y = best;
  if (winner != nullptr) *winner = static_cast<uint8_t>(where);
}

// Windows of 2 x 2 side by side in dense planes: lanes are neighbouring windows.
TENON_INLINE bool HalvesPlanes(const MaxPoolArgs& a) {
  const PoolShape& s = a.shape;
  return s.kernel_h == 2 && s.kernel_w == 2 && s.stride_h == 2 && s.stride_w == 2 && s.dilation_h == 1 &&
         s.dilation_w == 1 && s.pad_top == 0 && s.pad_left == 0 && 2 * s.out_h <= s.h && 2 * s.out_w <= s.w &&
         a.x_strides.w == 1 && a.y_strides.w == 1;
}

void HalvePlane(const MaxPoolArgs& a, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.x_strides, &ys = a.y_strides;
  for (int64_t oh = 0; oh < s.out_h; ++oh) {
    const float* x = a.x + n * xs.n + c * xs.c + 2 * oh * xs.h;
    const int64_t at = n * ys.n + c * ys.c + oh * ys.h;
    int64_t ow = 0;
    for (; ow + kLanes <= s.out_w; ow += kLanes) {
      Vec v0, v1, v2, v3, best;
      IVec where;
      Deinterleave(Load(x + 2 * ow), Load(x + 2 * ow + kLanes), v0, v1);
      Deinterleave(Load(x + 2 * ow + xs.h), Load(x + 2 * ow + xs.h + kLanes), v2, v3);
      MaxOfFour(v0, v1, v2, v3, best, where);
      Store(a.y + at + ow, best);
      if (a.winners != nullptr) StoreBytes(a.winners + at + ow, where);
    }
    for (; ow < s.out_w; ++ow) {
      const Clip whole{0, 2, 0, 2, 0, 0};
      MaxOne(s, whole, x + 2 * ow, xs, a.y + at + ow, a.winners == nullptr ? nullptr : a.winners + at + ow);
    }
  }
}

void MaxPoolImage(const MaxPoolArgs& a, bool channel_last, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.x_strides, &ys = a.y_strides;
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const float* x = a.x + n * xs.n + c * xs.c + clip.h * xs.h + clip.w * xs.w;
      const int64_t at = n * ys.n + c * ys.c + oh * ys.h + ow * ys.w;
      uint8_t* winners = a.winners == nullptr ? nullptr : a.winners + at;
      if (!channel_last) {
        MaxOne(s, clip, x, xs, a.y + at, winners);
        continue;
      }
      for (int64_t k = 0; k < s.c; k += kLanes)
        MaxVec(s, clip, x + k, xs, Min(kLanes, s.c - k), a.y + at + k, winners == nullptr ? nullptr : winners + k);
    }
}

TENON_INLINE void Clear(const PoolShape& s, float* dx, const Strides4& st, bool channel_last) {
  for (int64_t h = 0; h < s.h; ++h)
    for (int64_t w = 0; w < s.w; ++w) {
      float* to = dx + h * st.h + w * st.w;
      if (!channel_last)
        *to = 0.0f;
      else
        for (int64_t k = 0; k < s.c; k += kLanes) StorePartial(to + k, Zero(), Min(kLanes, s.c - k));
    }
}

void MaxPoolGradImage(const MaxPoolGradArgs& a, bool channel_last, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.dx_strides, &ys = a.dy_strides;
  float* dx = a.dx + n * xs.n + c * xs.c;
  Clear(s, dx, xs, channel_last);
  const int64_t channels = channel_last ? s.c : 1;
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const int64_t at = n * ys.n + c * ys.c + oh * ys.h + ow * ys.w;
      const int64_t h = oh * s.stride_h - s.pad_top, w = ow * s.stride_w - s.pad_left;
      for (int64_t k = 0; k < channels; ++k) {
        const int64_t winner = a.winners[at + k];
        if (winner == 255) continue;
        dx[(h + winner / s.kernel_w * s.dilation_h) * xs.h + (w + winner % s.kernel_w * s.dilation_w) * xs.w + k] +=
            a.dy[at + k];
      }
    }
}

// Channel-last, windows that neither overlap nor leave the image: each element of dx is written once.
void MaxPoolGradTiled(const MaxPoolGradArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.dx_strides, &ys = a.dy_strides;
  float* dx = a.dx + n * xs.n;
  if (s.out_h * s.kernel_h != s.h || s.out_w * s.kernel_w != s.w) Clear(s, dx, xs, true);
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const int64_t at = n * ys.n + oh * ys.h + ow * ys.w;
      float* to = dx + oh * s.stride_h * xs.h + ow * s.stride_w * xs.w;
      for (int64_t k = 0; k < s.c; k += kLanes) {
        const int64_t count = Min(kLanes, s.c - k);
        const Vec g = LoadPartial(a.dy + at + k, count);
        IVec winner;
        if (count == kLanes)
          winner = LoadBytes(a.winners + at + k);
        else
          for (int l = 0; l < kLanes; ++l) winner[l] = l < count ? a.winners[at + k + l] : 255;
        int32_t position = 0;
        for (int64_t i = 0; i < s.kernel_h; ++i)
          for (int64_t j = 0; j < s.kernel_w; ++j, ++position)
            StorePartial(to + i * xs.h + j * xs.w + k, KeepWhere(winner == SetI(position), g), count);
      }
    }
}

// ---- average

TENON_INLINE float Share(const PoolShape& s, const Clip& clip, int64_t oh, int64_t ow) {
  int64_t count = (clip.kh1 - clip.kh0) * (clip.kw1 - clip.kw0);
  if (s.count_padding) {
    const int64_t h = oh * s.stride_h - s.pad_top, w = ow * s.stride_w - s.pad_left;
    const Range rh = ClipAxis(h + s.pad_top, s.dilation_h, s.kernel_h, s.h + s.pad_top + s.pad_bottom);
    const Range rw = ClipAxis(w + s.pad_left, s.dilation_w, s.kernel_w, s.w + s.pad_left + s.pad_right);
    count = (rh.end - rh.begin) * (rw.end - rw.begin);
  }
  return count == 0 ? 0.0f : 1.0f / static_cast<float>(count);
}

void AveragePoolImage(const AveragePoolArgs& a, bool channel_last, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.x_strides, &ys = a.y_strides;
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const float share = Share(s, clip, oh, ow);
      const float* x = a.x + n * xs.n + c * xs.c + clip.h * xs.h + clip.w * xs.w;
      float* y = a.y + n * ys.n + c * ys.c + oh * ys.h + ow * ys.w;
      const int64_t rows = clip.kh1 - clip.kh0, columns = clip.kw1 - clip.kw0;
      if (!channel_last) {
        float sum = 0;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) sum += x[i * s.dilation_h * xs.h + j * s.dilation_w * xs.w];
        *y = sum * share;
        continue;
      }
      for (int64_t k = 0; k < s.c; k += kLanes) {
        const int64_t count = Min(kLanes, s.c - k);
        Vec sum = Zero();
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            sum += LoadPartial(x + i * s.dilation_h * xs.h + j * s.dilation_w * xs.w + k, count);
        StorePartial(y + k, sum * Set(share), count);
      }
    }
}

void AveragePoolGradImage(const AveragePoolArgs& a, bool channel_last, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const Strides4 &ys = a.x_strides, &xs = a.y_strides;  // the operand is dy, the result dx
  float* dx = a.y + n * xs.n + c * xs.c;
  Clear(s, dx, xs, channel_last);
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const float share = Share(s, clip, oh, ow);
      const float* dy = a.x + n * ys.n + c * ys.c + oh * ys.h + ow * ys.w;
      for (int64_t i = clip.kh0; i < clip.kh1; ++i)
        for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
          float* to =
              dx + (clip.h + (i - clip.kh0) * s.dilation_h) * xs.h + (clip.w + (j - clip.kw0) * s.dilation_w) * xs.w;
          if (!channel_last)
            *to += *dy * share;
          else
            for (int64_t k = 0; k < s.c; k += kLanes) {
              const int64_t count = Min(kLanes, s.c - k);
              StorePartial(to + k, LoadPartial(to + k, count) + LoadPartial(dy + k, count) * Set(share), count);
            }
        }
    }
}

}  // namespace

void MaxPool(const MaxPoolArgs& a, const Parallel& pool) {
  const bool channel_last = ChannelLast(a.x_strides) && ChannelLast(a.y_strides);
  const bool halves = !channel_last && HalvesPlanes(a);
  Images(a.shape, channel_last, pool, [&](int64_t n, int64_t c) {
    if (halves)
      HalvePlane(a, n, c);
    else
      MaxPoolImage(a, channel_last, n, c);
  });
}

void MaxPoolGrad(const MaxPoolGradArgs& a, const Parallel& pool) {
  const PoolShape& s = a.shape;
  const bool channel_last = ChannelLast(a.dx_strides) && ChannelLast(a.dy_strides);
  const bool tiled = channel_last && s.stride_h >= s.kernel_h && s.stride_w >= s.kernel_w && s.dilation_h == 1 &&
                     s.dilation_w == 1 && s.pad_top == 0 && s.pad_left == 0 &&
                     (s.out_h - 1) * s.stride_h + s.kernel_h <= s.h && (s.out_w - 1) * s.stride_w + s.kernel_w <= s.w;
  Images(s, channel_last, pool, [&](int64_t n, int64_t c) {
    if (tiled)
      MaxPoolGradTiled(a, n);
    else
      MaxPoolGradImage(a, channel_last, n, c);
  });
}

void AveragePool(const AveragePoolArgs& a, const Parallel& pool) {
  const bool channel_last = ChannelLast(a.x_strides) && ChannelLast(a.y_strides);
  Images(a.shape, channel_last, pool, [&](int64_t n, int64_t c) { AveragePoolImage(a, channel_last, n, c); });
}

void AveragePoolGrad(const AveragePoolArgs& a, const Parallel& pool) {
  const bool channel_last = ChannelLast(a.x_strides) && ChannelLast(a.y_strides);
  Images(a.shape, channel_last, pool, [&](int64_t n, int64_t c) { AveragePoolGradImage(a, channel_last, n, c); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

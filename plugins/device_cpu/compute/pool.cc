// Pools of channel-last images: a walk over output pixels, lanes are channels. Planes are in pool_planes.cc.
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/math.h"
#include "plugins/device_cpu/compute/pool_window.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The part of a window inside the image: positions [kh0, kh1) x [kw0, kw1), the first at (h, w).
struct Clip {
  int64_t kh0, kh1, kw0, kw1, h, w;
};
TENON_INLINE Clip ClipOf(const PoolShape& s, int64_t oh, int64_t ow) {
  const int64_t h = oh * s.stride_h - s.pad_top, w = ow * s.stride_w - s.pad_left;
  const Range rh = ClipAxis(h, s.dilation_h, s.kernel_h, s.h), rw = ClipAxis(w, s.dilation_w, s.kernel_w, s.w);
  return {rh.begin, rh.end, rw.begin, rw.end, h + rh.begin * s.dilation_h, w + rw.begin * s.dilation_w};
}

TENON_INLINE bool ChannelLast(const Strides4& t) { return t.c == 1 && t.w != 1; }

// Calls f(n) for the images on the pool.
template <class F>
TENON_INLINE void Images(const PoolShape& s, const Parallel& pool, const F& f) {
  const int64_t pieces = Pieces(pool, s.n, PoolNanoseconds(s));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(s.n, pieces, i);
    for (int64_t n = own.begin; n < own.end; ++n) f(n);
  });
}

// ---- maximum

// One window, `count` channels.
TENON_INLINE void MaxVec(const PoolShape& s, const Clip& clip, const float* x, const Strides4& st, int64_t count,
                         float* y, uint8_t* winners) {
  const bool none = clip.kh0 == clip.kh1 || clip.kw0 == clip.kw1;
  Vec best = Set(-__builtin_inff());
  IVec where = SetI(none ? 255 : static_cast<int32_t>(clip.kh0 * s.kernel_w + clip.kw0));
  for (int64_t i = clip.kh0; i < clip.kh1; ++i)
    for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
      const Vec v = LoadPartial(x + (i - clip.kh0) * s.dilation_h * st.h + (j - clip.kw0) * s.dilation_w * st.w, count);
      const IVec take = ~(v <= best) & (best == best);  // greater, or the first NaN
      best = take ? v : best;
      where = take ? SetI(static_cast<int32_t>(i * s.kernel_w + j)) : where;
    }
  StorePartial(y, best, count);
  if (winners == nullptr) return;
  if (count == kLanes) return StoreBytes(winners, where);
  for (int64_t l = 0; l < count; ++l) winners[l] = static_cast<uint8_t>(where[l]);
}

void MaxPoolImage(const MaxPoolArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.x_strides, &ys = a.y_strides;
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const float* x = a.x + n * xs.n + clip.h * xs.h + clip.w * xs.w;
      const int64_t at = n * ys.n + oh * ys.h + ow * ys.w;
      uint8_t* winners = a.winners == nullptr ? nullptr : a.winners + at;
      for (int64_t k = 0; k < s.c; k += kLanes)
        MaxVec(s, clip, x + k, xs, Min(kLanes, s.c - k), a.y + at + k, winners == nullptr ? nullptr : winners + k);
    }
}

TENON_INLINE void Clear(const PoolShape& s, float* dx, const Strides4& st) {
  for (int64_t h = 0; h < s.h; ++h)
    for (int64_t w = 0; w < s.w; ++w)
      for (int64_t k = 0; k < s.c; k += kLanes)
        StorePartial(dx + h * st.h + w * st.w + k, Zero(), Min(kLanes, s.c - k));
}

// Which position of its window won, of `count` channels.
TENON_INLINE IVec LoadWinners(const uint8_t* winners, int64_t count) {
  if (count == kLanes) return LoadBytes(winners);
  IVec winner = SetI(255);
  for (int64_t l = 0; l < count; ++l) winner[l] = winners[l];
  return winner;
}

void MaxPoolGradImage(const MaxPoolGradArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.dx_strides, &ys = a.dy_strides;
  float* const dx = a.dx + n * xs.n;
  Clear(s, dx, xs);
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const int64_t at = n * ys.n + oh * ys.h + ow * ys.w;
      for (int64_t k = 0; k < s.c; k += kLanes) {
        const int64_t count = Min(kLanes, s.c - k);
        const Vec g = LoadPartial(a.dy + at + k, count);
        const IVec winner = LoadWinners(a.winners + at + k, count);
        for (int64_t i = clip.kh0; i < clip.kh1; ++i)
          for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
            float* const to = dx + k + (clip.h + (i - clip.kh0) * s.dilation_h) * xs.h +
                              (clip.w + (j - clip.kw0) * s.dilation_w) * xs.w;
            const IVec won = winner == SetI(static_cast<int32_t>(i * s.kernel_w + j));
            StorePartial(to, LoadPartial(to, count) + KeepWhere(won, g), count);
          }
      }
    }
}

// Windows that neither overlap nor leave the image: each element of dx is written once.
void MaxPoolGradTiled(const MaxPoolGradArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.dx_strides, &ys = a.dy_strides;
  float* dx = a.dx + n * xs.n;
  if (s.out_h * s.kernel_h != s.h || s.out_w * s.kernel_w != s.w) Clear(s, dx, xs);
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const int64_t at = n * ys.n + oh * ys.h + ow * ys.w;
      float* to = dx + oh * s.stride_h * xs.h + ow * s.stride_w * xs.w;
      for (int64_t k = 0; k < s.c; k += kLanes) {
        const int64_t count = Min(kLanes, s.c - k);
        const Vec g = LoadPartial(a.dy + at + k, count);
        const IVec winner = LoadWinners(a.winners + at + k, count);
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

void AveragePoolImage(const AveragePoolArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &xs = a.x_strides, &ys = a.y_strides;
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const float share = Share(s, clip, oh, ow);
      const float* x = a.x + n * xs.n + clip.h * xs.h + clip.w * xs.w;
      float* y = a.y + n * ys.n + oh * ys.h + ow * ys.w;
      const int64_t rows = clip.kh1 - clip.kh0, columns = clip.kw1 - clip.kw0;
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

void AveragePoolGradImage(const AveragePoolArgs& a, int64_t n) {
  const PoolShape& s = a.shape;
  const Strides4 &ys = a.x_strides, &xs = a.y_strides;  // the operand is dy, the result dx
  float* dx = a.y + n * xs.n;
  Clear(s, dx, xs);
  for (int64_t oh = 0; oh < s.out_h; ++oh)
    for (int64_t ow = 0; ow < s.out_w; ++ow) {
      const Clip clip = ClipOf(s, oh, ow);
      const Vec share = Set(Share(s, clip, oh, ow));
      const float* dy = a.x + n * ys.n + oh * ys.h + ow * ys.w;
      for (int64_t i = clip.kh0; i < clip.kh1; ++i)
        for (int64_t j = clip.kw0; j < clip.kw1; ++j) {
          float* to =
              dx + (clip.h + (i - clip.kh0) * s.dilation_h) * xs.h + (clip.w + (j - clip.kw0) * s.dilation_w) * xs.w;
          for (int64_t k = 0; k < s.c; k += kLanes) {
            const int64_t count = Min(kLanes, s.c - k);
            StorePartial(to + k, LoadPartial(to + k, count) + LoadPartial(dy + k, count) * share, count);
          }
        }
    }
}

}  // namespace

void MaxPool(const MaxPoolArgs& a, const Parallel& pool) {
  if (!ChannelLast(a.x_strides)) return MaxPoolPlanes(a, pool);
  Images(a.shape, pool, [&](int64_t n) { MaxPoolImage(a, n); });
}

void MaxPoolGrad(const MaxPoolGradArgs& a, const Parallel& pool) {
  if (!ChannelLast(a.dx_strides)) return MaxPoolPlanesGrad(a, pool);
  const PoolShape& s = a.shape;
  const bool tiled = s.stride_h >= s.kernel_h && s.stride_w >= s.kernel_w && s.dilation_h == 1 && s.dilation_w == 1 &&
                     s.pad_top == 0 && s.pad_left == 0 && (s.out_h - 1) * s.stride_h + s.kernel_h <= s.h &&
                     (s.out_w - 1) * s.stride_w + s.kernel_w <= s.w;
  Images(s, pool, [&](int64_t n) {
    if (tiled)
      MaxPoolGradTiled(a, n);
    else
      MaxPoolGradImage(a, n);
  });
}

void AveragePool(const AveragePoolArgs& a, const Parallel& pool) {
  if (!ChannelLast(a.x_strides)) return AveragePoolPlanes(a, pool);
  Images(a.shape, pool, [&](int64_t n) { AveragePoolImage(a, n); });
}

void AveragePoolGrad(const AveragePoolArgs& a, const Parallel& pool) {
  if (!ChannelLast(a.x_strides)) return AveragePoolPlanesGrad(a, pool);
  Images(a.shape, pool, [&](int64_t n) { AveragePoolGradImage(a, n); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

// Pools of planes (lines, images and volumes): lanes are neighbouring outputs of a row whose windows lie within the plane;
// the few at its borders are taken one by one.
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/pool_window.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The slices and rows of a window that lie within the plane, for all outputs of a row; `at` is the place of position 0 of
// slice and row 0 beside w, which may lie before the plane.
struct WindowRows {
  Range d, h;
  int64_t at;
};
TENON_INLINE WindowRows RowsOf(const PoolShape& s, int64_t row, int64_t od, int64_t oh) {
  const int64_t d = od * s.stride_d - s.pad_front, h = oh * s.stride_h - s.pad_top;
  return {ClipAxis(d, s.dilation_d, s.kernel_d, s.d), ClipAxis(h, s.dilation_h, s.kernel_h, s.h), (d * s.h + h) * row};
}
TENON_INLINE Range ColumnsOf(const PoolShape& s, int64_t ow) {
  return ClipAxis(ow * s.stride_w - s.pad_left, s.dilation_w, s.kernel_w, s.w);
}

// Calls f(place, position) for slice and row of the window: `place` beside w, the window's position of its first column.
template <class F>
TENON_INLINE void ForWindowRows(const PoolShape& s, const WindowRows& rows, int64_t row, const F& f) {
  for (int64_t i = rows.d.begin; i < rows.d.end; ++i)
    for (int64_t j = rows.h.begin; j < rows.h.end; ++j)
      f(rows.at + (i * s.dilation_d * s.h + j * s.dilation_h) * row, (i * s.kernel_h + j) * s.kernel_w);
}

// Outputs of a row whose windows have all their columns.
TENON_INLINE Range WholeColumns(const PoolShape& s) {
  const int64_t last = s.w - 1 + s.pad_left - (s.kernel_w - 1) * s.dilation_w;
  const int64_t begin = Min(CeilDiv(s.pad_left, s.stride_w), s.out_w);
  return {begin, Max(begin, Min(last < 0 ? 0 : last / s.stride_w + 1, s.out_w))};
}

// The first `count` of p[0], p[2], p[4], ..; reads nothing behind the last.
TENON_INLINE Vec LoadEven(const float* p, int64_t count) {
  const int64_t second = 2 * count - kLanes;  // p[kLanes - 1] and as many behind it as are needed
  const Vec a = LoadPartial(p, Min(kLanes, 2 * count - 1));
  const Vec b = second > 0 ? LoadPartial(p + kLanes - 1, second) : Zero();
#if TENON_CPU_LANES == 4
  return __builtin_shufflevector(a, b, 0, 2, 5, 7);
#elif TENON_CPU_LANES == 8
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

// The first `count` of p[0], p[stride], p[2 stride], ..; kStride is 1, 2 or, for any other, 0.
template <int kStride>
TENON_INLINE Vec LoadSteps(const float* p, int64_t stride, int64_t count) {
  if (kStride == 1) return LoadPartial(p, count);
  if (kStride == 2) return LoadEven(p, count);
  Vec v = Zero();
  for (int64_t i = 0; i < count; ++i) v[i] = p[i * stride];
  return v;
}

// Calls f(at, count) for parts of `outputs` that fill a vector at most.
template <class F>
TENON_INLINE void ForVectors(Range outputs, const F& f) {
  for (int64_t at = outputs.begin; at < outputs.end; at += kLanes) f(at, Min(kLanes, outputs.end - at));
}

// Calls f(n, c) for each plane on the pool.
template <class F>
TENON_INLINE void ForPlanes(const PoolShape& s, const Parallel& pool, const F& f) {
  const int64_t planes = s.n * s.c, pieces = Pieces(pool, planes, PoolNanoseconds(s));
  ForEach(pool, pieces, [&](int64_t i) {
    const Range own = Piece(planes, pieces, i);
    for (int64_t p = own.begin; p < own.end; ++p) f(p / s.c, p % s.c);
  });
}
// Calls f(at, rows, od, oh) for each row of outputs of a plane; `at` is its place in it.
template <class F>
TENON_INLINE void ForOutputRows(const PoolShape& s, int64_t x_row, int64_t y_row, const F& f) {
  for (int64_t od = 0; od < s.out_d; ++od)
    for (int64_t oh = 0; oh < s.out_h; ++oh) f((od * s.out_h + oh) * y_row, RowsOf(s, x_row, od, oh), od, oh);
}

// ---- maximum

// Outputs whose windows all have these columns.
template <int kStride>
void MaxOutputs(const PoolShape& s, const WindowRows& rows, Range columns, const float* x, int64_t row, Range outputs,
                float* y, uint8_t* winners) {
  const bool none = Length(rows.d) == 0 || Length(rows.h) == 0 || Length(columns) == 0;
  const int64_t first = (rows.d.begin * s.kernel_h + rows.h.begin) * s.kernel_w + columns.begin;
  const IVec start = SetI(none ? 255 : static_cast<int32_t>(first));  // an element of -infinity wins as well
  ForVectors(outputs, [&](int64_t ow, int64_t count) {
    const float* const from = x + ow * s.stride_w - s.pad_left;
    Vec best = Set(-__builtin_inff());
    IVec where = start;
    ForWindowRows(s, rows, row, [&](int64_t place, int64_t position) {
      for (int64_t k = columns.begin; k < columns.end; ++k) {
        const Vec v = LoadSteps<kStride>(from + place + k * s.dilation_w, s.stride_w, count);
        const IVec take = ~(v <= best) & (best == best);  // greater, or the first NaN
        best = take ? v : best;
        where = take ? SetI(static_cast<int32_t>(position + k)) : where;
      }
    });
    StorePartial(y + ow, best, count);
    if (winners == nullptr) return;
    if (count == kLanes) return StoreBytes(winners + ow, where);
    for (int64_t l = 0; l < count; ++l) winners[ow + l] = static_cast<uint8_t>(where[l]);
  });
}

void MaxPlane(const MaxPoolArgs& a, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const int64_t row = a.x_strides.h, plane = n * a.y_strides.n + c * a.y_strides.c;
  const float* const x = a.x + n * a.x_strides.n + c * a.x_strides.c;
  const Range whole = WholeColumns(s), all = {0, s.kernel_w};
  ForOutputRows(s, row, a.y_strides.h, [&](int64_t at, const WindowRows& rows, int64_t, int64_t) {
    float* const y = a.y + plane + at;
    uint8_t* const winners = a.winners == nullptr ? nullptr : a.winners + plane + at;
    const auto one = [&](int64_t ow) { MaxOutputs<1>(s, rows, ColumnsOf(s, ow), x, row, {ow, ow + 1}, y, winners); };
    for (int64_t ow = 0; ow < whole.begin; ++ow) one(ow);
    if (s.stride_w == 1)
      MaxOutputs<1>(s, rows, all, x, row, whole, y, winners);
    else if (s.stride_w == 2)
      MaxOutputs<2>(s, rows, all, x, row, whole, y, winners);
    else
      MaxOutputs<0>(s, rows, all, x, row, whole, y, winners);
    for (int64_t ow = whole.end; ow < s.out_w; ++ow) one(ow);
  });
}

void ClearPlane(const PoolShape& s, float* dx, int64_t row) {
  for (int64_t h = 0; h < s.d * s.h; ++h)
    for (int64_t w = 0; w < s.w; ++w) dx[h * row + w] = 0.0f;
}

// `places`: of each position of the window beside its first.
void MaxPlaneGrad(const MaxPoolGradArgs& a, int64_t n, int64_t c, const int64_t* places) {
  const PoolShape& s = a.shape;
  const int64_t row = a.dx_strides.h, plane = n * a.dy_strides.n + c * a.dy_strides.c;
  float* const dx = a.dx + n * a.dx_strides.n + c * a.dx_strides.c;
  ClearPlane(s, dx, row);
  ForOutputRows(s, row, a.dy_strides.h, [&](int64_t at, const WindowRows& rows, int64_t, int64_t) {
    const float* const dy = a.dy + plane + at;
    const uint8_t* const winners = a.winners + plane + at;
    float* to = dx + rows.at - s.pad_left;
    for (int64_t ow = 0; ow < s.out_w; ++ow, to += s.stride_w)
      if (winners[ow] != 255) to[places[winners[ow]]] += dy[ow];
  });
}

// ---- average

// How many positions of a window count along one axis.
TENON_INLINE int64_t Counted(const PoolShape& s, Range inside, int64_t first, int64_t before, int64_t behind,
                             int64_t dilation, int64_t kernel, int64_t size) {
  return s.count_padding ? Length(ClipAxis(first + before, dilation, kernel, size + before + behind)) : Length(inside);
}
TENON_INLINE int64_t CountedRows(const PoolShape& s, const WindowRows& rows, int64_t od, int64_t oh) {
  return Counted(s, rows.d, od * s.stride_d - s.pad_front, s.pad_front, s.pad_back, s.dilation_d, s.kernel_d, s.d) *
         Counted(s, rows.h, oh * s.stride_h - s.pad_top, s.pad_top, s.pad_bottom, s.dilation_h, s.kernel_h, s.h);
}
TENON_INLINE int64_t CountedColumns(const PoolShape& s, Range columns, int64_t ow) {
  return Counted(s, columns, ow * s.stride_w - s.pad_left, s.pad_left, s.pad_right, s.dilation_w, s.kernel_w, s.w);
}
TENON_INLINE float ShareOf(int64_t count) { return count == 0 ? 0.0f : 1.0f / static_cast<float>(count); }

// One window, lanes are neighbouring columns of it.
TENON_INLINE float SumWindow(const PoolShape& s, const WindowRows& rows, const float* x, int64_t row, int64_t ow) {
  const Range columns = ColumnsOf(s, ow);
  const float* const first = x + ow * s.stride_w - s.pad_left;
  if (s.dilation_w != 1) {
    float sum = 0;
    ForWindowRows(s, rows, row, [&](int64_t place, int64_t) {
      for (int64_t k = columns.begin; k < columns.end; ++k) sum += first[place + k * s.dilation_w];
    });
    return sum;
  }
  Vec sum = Zero();
  ForWindowRows(s, rows, row, [&](int64_t place, int64_t) {
    ForVectors(columns, [&](int64_t k, int64_t count) { sum += LoadPartial(first + place + k, count); });
  });
  return SumLanes(sum);
}

template <int kStride>
void AverageWhole(const PoolShape& s, const WindowRows& rows, const float* x, int64_t row, Range outputs, float share,
                  float* y) {
  ForVectors(outputs, [&](int64_t ow, int64_t count) {
    const float* const first = x + ow * s.stride_w - s.pad_left;
    Vec sum = Zero();
    ForWindowRows(s, rows, row, [&](int64_t place, int64_t) {
      for (int64_t k = 0; k < s.kernel_w; ++k)
        sum += LoadSteps<kStride>(first + place + k * s.dilation_w, s.stride_w, count);
    });
    StorePartial(y + ow, sum * Set(share), count);
  });
}

void AveragePlane(const AveragePoolArgs& a, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const int64_t row = a.x_strides.h;
  const float* const x = a.x + n * a.x_strides.n + c * a.x_strides.c;
  float* const plane = a.y + n * a.y_strides.n + c * a.y_strides.c;
  // Few outputs of wide windows: each on its own.
  const Range all = WholeColumns(s);
  const Range whole = s.kernel_w > Length(all) && s.kernel_w >= kLanes / 2 ? Range{0, 0} : all;
  ForOutputRows(s, row, a.y_strides.h, [&](int64_t at, const WindowRows& rows, int64_t od, int64_t oh) {
    float* const y = plane + at;
    const int64_t counted = CountedRows(s, rows, od, oh);
    const auto one = [&](int64_t ow) {
      y[ow] = SumWindow(s, rows, x, row, ow) * ShareOf(counted * CountedColumns(s, ColumnsOf(s, ow), ow));
    };
    const float share = ShareOf(counted * s.kernel_w);
    for (int64_t ow = 0; ow < whole.begin; ++ow) one(ow);
    if (s.stride_w == 1)
      AverageWhole<1>(s, rows, x, row, whole, share, y);
    else if (s.stride_w == 2)
      AverageWhole<2>(s, rows, x, row, whole, share, y);
    else
      AverageWhole<0>(s, rows, x, row, whole, share, y);
    for (int64_t ow = whole.end; ow < s.out_w; ++ow) one(ow);
  });
}

// Adds share * dy of `outputs` to one row of their windows, which begin at `to` for output 0.
TENON_INLINE void AddShares(const PoolShape& s, const float* dy, Range outputs, float share, float* to) {
  for (int64_t k = 0; k < s.kernel_w; ++k) {
    float* const row = to + k * s.dilation_w;
    if (s.stride_w == 1) {
      ForVectors(outputs, [&](int64_t ow, int64_t count) {
        StorePartial(row + ow, LoadPartial(row + ow, count) + LoadPartial(dy + ow, count) * Set(share), count);
      });
    } else {
      for (int64_t ow = outputs.begin; ow < outputs.end; ++ow) row[ow * s.stride_w] += dy[ow] * share;
    }
  }
}

void AveragePlaneGrad(const AveragePoolArgs& a, int64_t n, int64_t c) {
  const PoolShape& s = a.shape;
  const int64_t row = a.y_strides.h;  // the operand is dy, the result dx
  const float* const plane = a.x + n * a.x_strides.n + c * a.x_strides.c;
  float* const dx = a.y + n * a.y_strides.n + c * a.y_strides.c;
  ClearPlane(s, dx, row);
  const Range whole = WholeColumns(s);
  ForOutputRows(s, row, a.x_strides.h, [&](int64_t at, const WindowRows& rows, int64_t od, int64_t oh) {
    const float* const dy = plane + at;
    const int64_t counted = CountedRows(s, rows, od, oh);
    ForWindowRows(s, rows, row, [&](int64_t place, int64_t) {
      float* const to = dx + place - s.pad_left;
      const auto one = [&](int64_t ow) {
        const Range columns = ColumnsOf(s, ow);
        const float g = dy[ow] * ShareOf(counted * CountedColumns(s, columns, ow));
        for (int64_t k = columns.begin; k < columns.end; ++k) to[ow * s.stride_w + k * s.dilation_w] += g;
      };
      for (int64_t ow = 0; ow < whole.begin; ++ow) one(ow);
      AddShares(s, dy, whole, ShareOf(counted * s.kernel_w), to);
      for (int64_t ow = whole.end; ow < s.out_w; ++ow) one(ow);
    });
  });
}

}  // namespace

void MaxPoolPlanes(const MaxPoolArgs& a, const Parallel& pool) {
  ForPlanes(a.shape, pool, [&](int64_t n, int64_t c) { MaxPlane(a, n, c); });
}

void MaxPoolPlanesGrad(const MaxPoolGradArgs& a, const Parallel& pool) {
  const PoolShape& s = a.shape;
  int64_t places[255] = {};
  for (int64_t p = 0; p < Min(255, s.kernel_d * s.kernel_h * s.kernel_w); ++p) {
    const int64_t k = p % s.kernel_w, rest = p / s.kernel_w, j = rest % s.kernel_h, i = rest / s.kernel_h;
    places[p] = (i * s.dilation_d * s.h + j * s.dilation_h) * a.dx_strides.h + k * s.dilation_w;
  }
  ForPlanes(s, pool, [&](int64_t n, int64_t c) { MaxPlaneGrad(a, n, c, places); });
}

void AveragePoolPlanes(const AveragePoolArgs& a, const Parallel& pool) {
  ForPlanes(a.shape, pool, [&](int64_t n, int64_t c) { AveragePlane(a, n, c); });
}

void AveragePoolPlanesGrad(const AveragePoolArgs& a, const Parallel& pool) {
  ForPlanes(a.shape, pool, [&](int64_t n, int64_t c) { AveragePlaneGrad(a, n, c); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

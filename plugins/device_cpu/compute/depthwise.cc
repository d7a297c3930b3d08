// A vector of channels at a time, and of these as many rows of outputs as stay in the second-level cache with the inputs that they read:
// both are copied side by side, with the pads, so that each tap is a sum of products of vectors that follow each other.
#include "plugins/device_cpu/compute/depthwise.h"

#include <utility>

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBandFloats = 64 * 1024;
constexpr int kMostTaps = kAccumulators / 2;  // of a row of the window, summed at a time

// Outputs at a time, each with sums of its own: enough to hide how long an addition takes.
template <int kTaps>
constexpr int kOutputs = kTaps > 4 ? (kLanes == 16 && kTaps < 8 ? 2 : 1) : (kLanes == 16 ? 12 : 8) / kTaps;

// Rows of outputs at a time, and the inputs that they read; in vectors.
struct Band {
  int64_t rows, width, in_rows, in_width;
  TENON_INLINE int64_t InFloats() const { return in_rows * in_width * kLanes; }
  TENON_INLINE int64_t OutFloats() const { return rows * width * kLanes; }
};
TENON_INLINE Band BandOf(const ConvPoolShape& s) {
  Band b{};
  const int64_t above = (s.kh - 1) * s.dilation_h;  // rows that neighbouring bands share
  b.width = s.ConvW(), b.in_width = (b.width - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
  const int64_t room = kBandFloats / kLanes - above * b.in_width;
  b.rows = Max(1, Min(s.ConvH(), room / (b.in_width * s.stride_h + b.width)));
  b.in_rows = (b.rows - 1) * s.stride_h + above + 1;
  return b;
}
TENON_INLINE int64_t PieceFloats(const ConvPoolShape& s) {
  const Band b = BandOf(s);
  return b.InFloats() + b.OutFloats() + s.kh * s.kw * kLanes;
}

// `count` channels from c on of the image n: rows [row, row + rows) and columns [column, column + columns) side by side. What lies
// outside the image is zero.
template <class T>
void CopyChannels(const T* image, int64_t h, int64_t w, int64_t channels, int64_t c, int64_t count, Range rows,
                  Range columns, float* to) {
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j, to += kLanes) {
      const bool inside = i >= 0 && i < h && j >= 0 && j < w;
      Store(to, inside ? LoadPartial(image + (i * w + j) * channels + c, count) : Zero());
    }
}

// Adds the products of a band for taps of one row of the window to their sums. `x`: what the first of them meets first.
template <int kTaps>
void SumTaps(const ConvPoolShape& s, const Band& band, int64_t rows, const float* x, const float* dy, float* sums) {
  constexpr int U = kOutputs<kTaps>;
  const int64_t step = s.stride_w * kLanes, tap = s.dilation_w * kLanes, row = s.stride_h * band.in_width * kLanes;
  Vec acc[U][kTaps];
  TENON_UNROLL for (int u = 0; u < U; ++u) TENON_UNROLL for (int t = 0; t < kTaps; ++t) acc[u][t] = Zero();
  for (int64_t i = 0; i < rows; ++i, x += row) {
    const float* from = x;
    int64_t j = 0;
    for (; j + U <= band.width; j += U, from += U * step, dy += U * kLanes) {
      TENON_UNROLL for (int u = 0; u < U; ++u) {
        const Vec g = Load(dy + u * kLanes);
        TENON_UNROLL for (int t = 0; t < kTaps; ++t) acc[u][t] += g * Load(from + u * step + t * tap);
      }
    }
    for (; j < band.width; ++j, from += step, dy += kLanes) {
      const Vec g = Load(dy);
      TENON_UNROLL for (int t = 0; t < kTaps; ++t) acc[0][t] += g * Load(from + t * tap);
    }
  }
  TENON_UNROLL for (int t = 0; t < kTaps; ++t) {
    Vec sum = Load(sums + t * kLanes);
    TENON_UNROLL for (int u = 0; u < U; ++u) sum += acc[u][t];
    Store(sums + t * kLanes, sum);
  }
}
using SumTapsFn = void (*)(const ConvPoolShape&, const Band&, int64_t, const float*, const float*, float*);
template <int... kBefore>
TENON_INLINE SumTapsFn FindSumTaps(int64_t taps, std::integer_sequence<int, kBefore...>) {
  static constexpr SumTapsFn kTable[] = {&SumTaps<kBefore + 1>...};
  return kTable[taps - 1];
}

// Rows [taps) of the windows of `count` channels from c on. `space`: PieceFloats.
template <class T>
void SumRows(const DepthwiseWeightsArgsOf<T>& a, const Band& band, int64_t c, int64_t count, Range taps, float* space) {
  const ConvPoolShape& s = a.shape;
  float *const x = space, *const dy = x + band.InFloats(), *const sums = dy + band.OutFloats();
  for (int64_t i = taps.begin * s.kw; i < taps.end * s.kw; ++i) Store(sums + i * kLanes, Zero());
  const bool bias = a.db != nullptr && taps.begin == 0;
  Vec bias_sum = Zero();
  const int64_t parts = CeilDiv(s.kw, kMostTaps);
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t first = 0; first < s.ConvH(); first += band.rows) {
      const int64_t rows = Min(band.rows, s.ConvH() - first), top = first * s.stride_h - s.pad_top;
      CopyChannels(a.x + n * s.h * s.w * s.c, s.h, s.w, s.c, c, count,
                   {top, top + (rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1},
                   {-s.pad_left, band.in_width - s.pad_left}, x);
      CopyChannels(a.dy + n * s.ConvH() * band.width * s.c, s.ConvH(), band.width, s.c, c, count, {first, first + rows},
                   {0, band.width}, dy);
      for (int64_t i = 0; bias && i < rows * band.width; ++i) bias_sum += Load(dy + i * kLanes);
      for (int64_t k = taps.begin; k < taps.end; ++k)
        for (int64_t part = 0; part < parts; ++part) {
          const Range r = Piece(s.kw, parts, part);
          FindSumTaps(r.end - r.begin, std::make_integer_sequence<int, kMostTaps>())(
              s, band, rows, x + (k * s.dilation_h * band.in_width + r.begin * s.dilation_w) * kLanes, dy,
              sums + (k * s.kw + r.begin) * kLanes);
        }
    }
  alignas(64) T lanes[kLanes];
  for (int64_t i = taps.begin * s.kw; i < taps.end * s.kw; ++i) {
    Store(lanes, Load(sums + i * kLanes));
    for (int64_t l = 0; l < count; ++l) a.dw[(c + l) * s.kh * s.kw + i] = lanes[l];
  }
  if (bias) StorePartial(a.db + c, bias_sum, count);
}

}  // namespace

template <class T>
int64_t DepthwiseWeightsWorkspace(const DepthwiseWeightsArgsOf<T>& a, int64_t threads) {
  return PieceFloats(a.shape) * Max(1, threads) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void DepthwiseWeights(const DepthwiseWeightsArgsOf<T>& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  const Band band = BandOf(s);
  const double products = static_cast<double>(s.n * s.ConvH() * s.ConvW()) * static_cast<double>(s.kh * s.kw * s.c);
  // Rows of the windows of one vector of channels after the other.
  const int64_t all = CeilDiv(s.c, kLanes) * s.kh, pieces = Pieces(pool, all, products / (1.5 * kLanes));
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range own = Piece(all, pieces, piece);
    for (int64_t row = own.begin; row < own.end;) {
      const int64_t c = row / s.kh * kLanes, first = row % s.kh, end = Min(s.kh, first + own.end - row);
      SumRows(a, band, c, Min(kLanes, s.c - c), {first, end}, workspace + piece * PieceFloats(s));
      row += end - first;
    }
  });
}

template int64_t DepthwiseWeightsWorkspace(const DepthwiseWeightsArgsOf<float>&, int64_t);
template int64_t DepthwiseWeightsWorkspace(const DepthwiseWeightsArgsOf<Bf16>&, int64_t);
template void DepthwiseWeights(const DepthwiseWeightsArgsOf<float>&, float*, const Parallel&);
template void DepthwiseWeights(const DepthwiseWeightsArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA

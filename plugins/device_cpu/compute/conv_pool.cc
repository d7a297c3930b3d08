// Direct convolution over channel-last images: a window row is one run of kw * c floats, read as whole vectors.
// Forward: lanes are output channels, a tile is a few pixels of one row; finished rows go through a small buffer to the
// pool. Backward: only the winner of each pooled pixel has a gradient, so both gradients are sums over pooled pixels of
// g times a window (of x, or of the weights).
#include "plugins/device_cpu/compute/conv_pool.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kSlack = 4 * kLanes;  // floats that whole-vector reads may touch beyond an image

// A window as runs of consecutive floats in the padded channel-last image.
struct Window {
  int64_t runs, length;    // runs per window, floats per run
  int64_t run_stride;      // floats from one run to the next within a kernel row group
  int64_t rows, row_stride;  // groups (kernel rows); runs = rows * runs_per_row
  int64_t vectors;         // per run
  int64_t padded;          // vectors * kLanes
};

// The image as the loops see it: channel-last with the padding included.
struct Image {
  int64_t h, w;          // padded
  int64_t row, size;     // floats
  bool copy;             // the caller's tensor is not like that
};

TENON_INLINE Image ImageOf(const ConvPoolShape& s, const Strides4& x) {
  Image i;
  i.h = s.h + s.pad_top + s.pad_bottom;
  i.w = s.w + s.pad_left + s.pad_right;
  i.row = i.w * s.c;
  i.size = i.h * i.row;
  const bool channel_last = (x.c == 1 || s.c == 1) && x.w == s.c && x.h == s.w * s.c;
  i.copy = !channel_last || i.h != s.h || i.w != s.w;
  return i;
}

TENON_INLINE Window WindowOf(const ConvPoolShape& s, const Image& image) {
  Window w;
  const bool dense = s.dilation_w == 1;
  w.rows = s.kh;
  w.row_stride = s.dilation_h * image.row;
  w.runs = dense ? s.kh : s.kh * s.kw;
  w.length = dense ? s.kw * s.c : s.c;
  w.run_stride = dense ? 0 : s.dilation_w * s.c;
  w.vectors = CeilDiv(w.length, kLanes);
  w.padded = w.vectors * kLanes;
  return w;
}

// Offset in the image of run r of a window.
TENON_INLINE int64_t RunOffset(const Window& w, int64_t r) {
  const int64_t per_row = w.runs / w.rows;
  return r / per_row * w.row_stride + r % per_row * w.run_stride;
}

// Element t of run r is input channel c, kernel position kh, kw; returns its index in row-major [c][kh][kw].
TENON_INLINE int64_t WeightIndex(const ConvPoolShape& s, const Window& w, int64_t r, int64_t t) {
  const int64_t per_row = w.runs / w.rows;
  const int64_t kh = r / per_row, kw = per_row == 1 ? t / s.c : r % per_row, c = per_row == 1 ? t % s.c : t;
  return (c * s.kh + kh) * s.kw + kw;
}

// One image to the padded channel-last form; `out` has kSlack floats more. The padding is written once (`clear`).
void CopyImage(const ConvPoolShape& s, const Image& image, const float* x, const Strides4& st, float* out, bool clear) {
  if (clear)
    for (int64_t i = 0; i < image.size + kSlack; ++i) out[i] = 0.0f;
  float* inner = out + s.pad_top * image.row + s.pad_left * s.c;
  for (int64_t h = 0; h < s.h; ++h) {
    float* to = inner + h * image.row;
    const float* from = x + h * st.h;
    if ((st.c == 1 || s.c == 1) && st.w == s.c) {
      const int64_t count = s.w * s.c;
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
      for (; i < count; ++i) to[i] = from[i];
    } else {
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t w = 0; w < s.w; ++w) to[w * s.c + c] = from[c * st.c + w * st.w];
    }
  }
}

// The reverse for dx.
void CopyOut(const ConvPoolShape& s, const Image& image, const float* in, float* x, const Strides4& st) {
  const float* inner = in + s.pad_top * image.row + s.pad_left * s.c;
  for (int64_t h = 0; h < s.h; ++h) {
    const float* from = inner + h * image.row;
    float* to = x + h * st.h;
    if ((st.c == 1 || s.c == 1) && st.w == s.c) {
      const int64_t count = s.w * s.c;
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
      for (; i < count; ++i) to[i] = from[i];
    } else {
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t w = 0; w < s.w; ++w) to[c * st.c + w * st.w] = from[w * s.c + c];
    }
  }
}

// ---- forward

// Weights as [block of V vectors of output channels][run][t][V * kLanes]; channels beyond oc are zero.
void PackForwardWeights(const ConvPoolShape& s, const Window& win, const float* weights, int64_t channels, float* out) {
  const int64_t kernel = s.c * s.kh * s.kw;
  for (int64_t first = 0; first < channels;) {
    const int64_t width = channels - first > kLanes ? 2 * kLanes : kLanes;
    for (int64_t r = 0; r < win.runs; ++r)
      for (int64_t t = 0; t < win.length; ++t, out += width) {
        const float* from = weights + first * kernel + WeightIndex(s, win, r, t);
        for (int64_t o = 0; o < width; ++o) out[o] = first + o < s.oc ? from[o * kernel] : 0.0f;
      }
    first += width;
  }
}

// P neighbouring output pixels by V vectors of output channels.
template <int P, int V>
void ConvTile(const Window& win, const float* x, int64_t pixel, const float* weights, float* out, int64_t out_pixel) {
  Vec acc[P][V];
  TENON_UNROLL for (int p = 0; p < P; ++p)
    TENON_UNROLL for (int v = 0; v < V; ++v) acc[p][v] = Zero();
  const int64_t per_row = win.runs / win.rows;
  for (int64_t row = 0; row < win.rows; ++row) {
    for (int64_t run = 0; run < per_row; ++run) {
      const float* from = x + row * win.row_stride + run * win.run_stride;
      for (int64_t t = 0; t < win.length; ++t) {
        Vec w[V];
        TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(weights + v * kLanes);
        weights += V * kLanes;
        TENON_UNROLL for (int p = 0; p < P; ++p) {
          const Vec value = Set(from[p * pixel + t]);
          TENON_UNROLL for (int v = 0; v < V; ++v) acc[p][v] += value * w[v];
        }
      }
    }
  }
  TENON_UNROLL for (int p = 0; p < P; ++p)
    TENON_UNROLL for (int v = 0; v < V; ++v) Store(out + p * out_pixel + v * kLanes, acc[p][v]);
}

using ConvTileFn = void (*)(const Window&, const float*, int64_t, const float*, float*, int64_t);
template <int V, int... P>
TENON_INLINE void CallConvTile(int64_t pixels, const Window& win, const float* x, int64_t pixel, const float* weights,
                               float* out, int64_t out_pixel) {
  static constexpr ConvTileFn kTable[] = {&ConvTile<P, V>...};
  kTable[pixels - 1](win, x, pixel, weights, out, out_pixel);
}

// One row of convolution output, [pixels][channels] with `channels` a multiple of kLanes.
TENON_INLINE void ConvRow(const ConvPoolShape& s, const Window& win, const float* x, const float* weights,
                          int64_t pixels, int64_t channels, float* out) {
  const int64_t pixel = s.stride_w * s.c, taps = win.runs * win.length;
  for (int64_t first = 0; first < channels;) {
    const bool wide = channels - first > kLanes;
    const int64_t most = wide ? kAccumulators / 2 : 12;
    const int64_t tiles = CeilDiv(pixels, most);
    for (int64_t t = 0; t < tiles; ++t) {
      const Range r = Piece(pixels, tiles, t);
      const float* from = x + r.begin * pixel;
      float* to = out + r.begin * channels + first;
      if (!wide)
        CallConvTile<1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(r.end - r.begin, win, from, pixel, weights, to, channels);
      else
#if TENON_CPU_LANES == 16
        CallConvTile<2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(r.end - r.begin, win, from, pixel, weights, to, channels);
#else
        CallConvTile<2, 1, 2, 3, 4, 5, 6>(r.end - r.begin, win, from, pixel, weights, to, channels);
#endif
    }
    const int64_t width = wide ? 2 * kLanes : kLanes;
    weights += taps * width;
    first += width;
  }
}

// Maximum of a window of vectors, and its position. rows: the first value; PH, PW: 0 means as in the shape.
template <int PH, int PW>
TENON_INLINE void PoolVec(const ConvPoolShape& s, const float* values, int64_t row, int64_t pixel, Vec& best, IVec& where) {
  const int ph = PH != 0 ? PH : static_cast<int>(s.pool_h), pw = PW != 0 ? PW : static_cast<int>(s.pool_w);
  best = Load(values);
  where = IVec{};
  for (int i = 0; i < ph; ++i)
    for (int j = 0; j < pw; ++j) {
      if (i == 0 && j == 0) continue;
      const Vec v = Load(values + i * row + j * pixel);
      const IVec take = (v > best) | ((v != v) & (best == best));
      best = take ? v : best;
      where = take ? SetI(i * pw + j) : where;
    }
}

struct PoolRow {
  const float* rows;   // pool_h rows of convolution output
  int64_t row, channels;
  float* y;            // first pooled pixel
  int64_t y_w, y_c;
  uint8_t* winners;    // or null
};

template <int PH, int PW>
void PoolOneRow(const ConvPoolShape& s, const PoolRow& r, const float* bias, int64_t pooled) {
  for (int64_t p = 0; p < pooled; ++p) {
    const float* values = r.rows + p * s.pool_stride_w * r.channels;
    float* y = r.y + p * r.y_w;
    for (int64_t c = 0; c < s.oc; c += kLanes) {
      Vec best;
      IVec where;
      PoolVec<PH, PW>(s, values + c, r.row, r.channels, best, where);
      best += Load(bias + c);
      if (s.relu) best = Relu(best);
      const int64_t count = Min(kLanes, s.oc - c);
      // Lanes beyond oc may fall on the next pixel, which is written afterwards.
      const bool whole = count == kLanes || (r.y_w == s.oc && p + kLanes / s.oc + 1 < pooled);
      if (r.y_c == 1 && whole) {
        Store(y + c, best);
      } else if (r.y_c == 1) {
        StorePartial(y + c, best, count);
      } else {
        for (int64_t l = 0; l < count; ++l) y[(c + l) * r.y_c] = best[l];
      }
      if (r.winners == nullptr) continue;
      const BVec bytes = __builtin_convertvector(where, BVec);
      uint8_t* to = r.winners + p * s.oc + c;
      if (whole) {
        *reinterpret_cast<BVecAny*>(to) = bytes;
      } else {
        for (int64_t l = 0; l < count; ++l) to[l] = bytes[l];
      }
    }
  }
}

struct ForwardSpace {
  int64_t weights, bias, image, rows;  // floats
  int64_t channels;                    // oc rounded up to whole vectors
  int64_t row_floats;
};
TENON_INLINE ForwardSpace ForwardSpaceOf(const ConvPoolShape& s, const Image& image, const Window& win) {
  ForwardSpace f;
  f.channels = RoundUp(s.oc, kLanes);
  f.weights = RoundUp(win.runs * win.length * f.channels, 16);
  f.bias = RoundUp(f.channels, 16);
  f.image = RoundUp(image.size + kSlack, 16);
  f.row_floats = s.ConvW() * f.channels;
  f.rows = RoundUp(f.row_floats * s.pool_h + kSlack, 16);
  return f;
}

TENON_INLINE bool Empty(const ConvPoolShape& s) {
  return s.n == 0 || s.oc == 0 || s.ConvH() < s.pool_h || s.ConvW() < s.pool_w;
}

void ForwardImage(const ConvPoolForwardArgs& a, const Image& image, const Window& win, const ForwardSpace& f,
                  const float* x, const float* weights, const float* bias, float* rows, int64_t n) {
  const ConvPoolShape& s = a.shape;
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW();
  const int64_t conv_w = Min(s.ConvW(), (pooled_w - 1) * s.pool_stride_w + s.pool_w);
  for (int64_t ph = 0; ph < pooled_h; ++ph) {
    for (int64_t i = 0; i < s.pool_h; ++i) {
      const float* from = x + (ph * s.pool_stride_h + i) * s.stride_h * image.row;
      ConvRow(s, win, from, weights, conv_w, f.channels, rows + i * f.row_floats);
    }
    PoolRow r;
    r.rows = rows, r.row = f.row_floats, r.channels = f.channels;
    r.y = a.y + n * a.y_strides.n + ph * a.y_strides.h;
    r.y_w = a.y_strides.w, r.y_c = a.y_strides.c;
    r.winners = a.winners == nullptr ? nullptr : a.winners + (n * pooled_h + ph) * pooled_w * s.oc;
    if (s.pool_h == 2 && s.pool_w == 2) {
      PoolOneRow<2, 2>(s, r, bias, pooled_w);
    } else if (s.pool_h == 1 && s.pool_w == 1) {
      PoolOneRow<1, 1>(s, r, bias, pooled_w);
    } else {
      PoolOneRow<0, 0>(s, r, bias, pooled_w);
    }
  }
}

TENON_INLINE double ForwardNanoseconds(const ConvPoolShape& s) {
  return static_cast<double>(s.n * s.ConvH() * s.ConvW()) * static_cast<double>(s.oc * s.c * s.kh * s.kw) / (2.5 * kLanes);
}

// ---- backward

// dw of one output channel block: ROWS runs by V vectors for NC channels, summed over pooled pixels of several images.
struct WeightSum {
  const ConvPoolShape* s;
  const float* g;          // [image][pooled][oc], masked
  int64_t g_image;
  const uint8_t* winners;  // same order, or null
  const int64_t* offsets;  // by winner: floats from the window of position 0
  int64_t pooled_h, pooled_w;
  int64_t step_h, step_w;  // floats in the image per pooled row and column
  int64_t run_stride;      // between the ROWS runs
};

template <int ROWS, int V, int NC>
void SumWeights(const WeightSum& w, const float* const* images, int64_t count, int64_t x_offset, int64_t first_image,
                int64_t oc, float* sums, int64_t sum_run, int64_t sum_channel) {
  Vec acc[NC][ROWS][V];
  TENON_UNROLL for (int n = 0; n < NC; ++n)
    TENON_UNROLL for (int r = 0; r < ROWS; ++r)
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[n][r][v] = Load(sums + n * sum_channel + r * sum_run + v * kLanes);
  const int64_t channels = w.s->oc, run_stride = w.run_stride;
  for (int64_t i = 0; i < count; ++i) {
    const float* g = w.g + (first_image + i) * w.g_image + oc;
    const uint8_t* winners = w.winners == nullptr ? nullptr : w.winners + (first_image + i) * w.g_image + oc;
    for (int64_t ph = 0; ph < w.pooled_h; ++ph) {
      const float* x = images[i] + x_offset + ph * w.step_h;
      for (int64_t pw = 0; pw < w.pooled_w; ++pw, x += w.step_w, g += channels) {
        TENON_UNROLL for (int n = 0; n < NC; ++n) {
          const float* from = winners == nullptr ? x : x + w.offsets[winners[n]];
          const Vec value = Set(g[n]);
          TENON_UNROLL for (int r = 0; r < ROWS; ++r)
            TENON_UNROLL for (int v = 0; v < V; ++v) acc[n][r][v] += value * Load(from + r * run_stride + v * kLanes);
        }
        if (winners != nullptr) winners += channels;
      }
    }
  }
  TENON_UNROLL for (int n = 0; n < NC; ++n)
    TENON_UNROLL for (int r = 0; r < ROWS; ++r)
      TENON_UNROLL for (int v = 0; v < V; ++v) Store(sums + n * sum_channel + r * sum_run + v * kLanes, acc[n][r][v]);
}

// dx: adds g times the weights of the channels whose winner is at this offset to ROWS runs of the window.
template <int ROWS, int V>
void SpreadWeights(uint64_t live, const float* g, const float* weights, int64_t weight_run, int64_t weight_channel,
                   float* dx, int64_t run_stride) {
  Vec acc[ROWS][V];
  TENON_UNROLL for (int r = 0; r < ROWS; ++r)
    TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = Load(dx + r * run_stride + v * kLanes);
  do {
    const int oc = __builtin_ctzll(live);
    live &= live - 1;
    const Vec value = Set(g[oc]);
    const float* w = weights + oc * weight_channel;
    TENON_UNROLL for (int r = 0; r < ROWS; ++r)
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] += value * Load(w + r * weight_run + v * kLanes);
  } while (live != 0);
  TENON_UNROLL for (int r = 0; r < ROWS; ++r)
    TENON_UNROLL for (int v = 0; v < V; ++v) Store(dx + r * run_stride + v * kLanes, acc[r][v]);
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
    if (rows == R) f(Int<R>{}, Int<V>{});
    else WithRows<V, R - 1>(rows, f);
  }
}
template <class F>
TENON_INLINE void WithTile(int64_t rows, int64_t v, const F& f) {
  switch (v) {
    case 1: return WithRows<1, MaxRows(1)>(rows, f);
    case 2: return WithRows<2, MaxRows(2)>(rows, f);
    case 3: return WithRows<3, MaxRows(3)>(rows, f);
    default: return WithRows<4, MaxRows(4)>(rows, f);
  }
}

// Calls f(first run, runs, first vector, vectors) so that the pieces cover runs x vectors; the runs of a piece are
// equally spaced.
template <class F>
TENON_INLINE void ForTiles(const Window& win, const F& f) {
  const int64_t per_row = win.runs / win.rows;
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

// A piece of a window for SpreadWeights.
struct SpreadTile {
  void (*add)(uint64_t live, const float* g, const float* weights, int64_t weight_run, int64_t weight_channel, float* dx,
              int64_t run_stride);
  int64_t dx_offset, weight_offset, run_stride;
};

// Writes the pieces to `tiles` unless it is null; returns how many there are.
int64_t SpreadTiles(const Window& win, SpreadTile* tiles) {
  int64_t count = 0;
  ForTiles(win, [&](int64_t r0, int64_t rows, int64_t v0, int64_t v) {
    if (tiles != nullptr) {
      SpreadTile& t = tiles[count];
      WithTile(rows, v, [&](auto r, auto n) { t.add = &SpreadWeights<decltype(r)::value, decltype(n)::value>; });
      t.dx_offset = RunOffset(win, r0) + v0 * kLanes;
      t.weight_offset = r0 * win.padded + v0 * kLanes;
      t.run_stride = rows > 1 ? RunOffset(win, r0 + 1) - RunOffset(win, r0) : 0;
    }
    ++count;
  });
  return count;
}

struct BackwardSpace {
  int64_t g, partial_bias, offsets;        // floats, shared by all pieces
  int64_t tiles;
  int64_t weights, sums;                   // shared: packed weights, sums of dw
  int64_t last_image;                      // images for dw that have to be copied
  int64_t dx;                              // per piece
  int64_t images_copied;
};
TENON_INLINE BackwardSpace BackwardSpaceOf(const ConvPoolBackwardArgs& a, const Image& image, const Window& win,
                                           int64_t threads) {
  const ConvPoolShape& s = a.shape;
  BackwardSpace b;
  const int64_t pooled = s.PooledH() * s.PooledW();
  b.g = RoundUp(s.n * pooled * s.oc + kSlack, 16);
  b.partial_bias = RoundUp(s.n * RoundUp(s.oc, kLanes), 16);
  b.offsets = RoundUp(2 * s.pool_h * s.pool_w, 16);
  b.tiles = a.dx == nullptr ? 0 : RoundUp(SpreadTiles(win, nullptr) * static_cast<int64_t>(sizeof(SpreadTile) / 4), 16);
  b.weights = a.dx == nullptr ? 0 : RoundUp(s.oc * win.runs * win.padded, 16);
  b.sums = a.dw == nullptr ? 0 : RoundUp(s.oc * win.runs * win.padded, 16);
  // Reading whole vectors at the end of the caller's last image would leave it: that one is copied in any case.
  b.images_copied = a.dw == nullptr ? 0 : image.copy ? s.n : 1;
  b.last_image = b.images_copied * RoundUp(image.size + kSlack, 16);
  b.dx = a.dx == nullptr ? 0 : RoundUp(image.size + kSlack, 16) * Max(1, threads);
  return b;
}

// g of one image, channel-last and zero where the activation was not above 0; the image's part of db.
void MaskGradient(const ConvPoolBackwardArgs& a, int64_t n, int64_t pooled_h, int64_t pooled_w, float* g, float* bias) {
  const ConvPoolShape& s = a.shape;
  const int64_t oc = s.oc, pooled = pooled_h * pooled_w;
  const float* dy = a.dy + n * a.dy_strides.n;
  const float* y = s.relu ? a.y + n * a.y_strides.n : nullptr;
  auto channel_last = [&](const Strides4& t) { return t.c == 1 && t.w == oc && t.h == oc * pooled_w; };
  if (channel_last(a.dy_strides) && (y == nullptr || channel_last(a.y_strides))) {
    const int64_t count = pooled * oc;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const Vec v = Load(dy + i);
      Store(g + i, y == nullptr ? v : KeepWhere(~(Load(y + i) <= Zero()), v));
    }
    for (; i < count; ++i) g[i] = y == nullptr || !(y[i] <= 0) ? dy[i] : 0.0f;
  } else {
    for (int64_t h = 0; h < pooled_h; ++h)
      for (int64_t c = 0; c < oc; ++c)
        for (int64_t w = 0; w < pooled_w; ++w) {
          const float v = dy[h * a.dy_strides.h + w * a.dy_strides.w + c * a.dy_strides.c];
          const bool keep = y == nullptr || !(y[h * a.y_strides.h + w * a.y_strides.w + c * a.y_strides.c] <= 0);
          g[(h * pooled_w + w) * oc + c] = keep ? v : 0.0f;
        }
  }
  if (a.db == nullptr) return;
  for (int64_t c = 0; c < oc; c += kLanes) {
    Vec sum[2] = {Zero(), Zero()};
    int64_t p = 0;
    if (c + kLanes <= oc || oc % kLanes == 0) {
      for (; p + 2 <= pooled; p += 2)
        TENON_UNROLL for (int k = 0; k < 2; ++k) sum[k] += Load(g + (p + k) * oc + c);
      for (; p < pooled; ++p) sum[0] += Load(g + p * oc + c);
    } else {
      // Whole vectors while they stay inside this image's part, whose neighbours other threads write.
      const int64_t safe = (pooled * oc - kLanes - c) / oc;
      for (; p + 2 <= safe; p += 2)
        TENON_UNROLL for (int k = 0; k < 2; ++k) sum[k] += Load(g + (p + k) * oc + c);
      for (; p < pooled; ++p) sum[0] += LoadPartial(g + p * oc + c, oc - c);
    }
    StorePartial(bias + c, sum[0] + sum[1], Min(kLanes, oc - c));
  }
}

void SumWeightChannels(const ConvPoolBackwardArgs& a, const Window& win, const WeightSum& sum, const float* const* images,
                       Range channels, float* sums) {
  const ConvPoolShape& s = a.shape;
  const int64_t channel = win.runs * win.padded;
  for (int64_t i = channels.begin * channel; i < channels.end * channel; ++i) sums[i] = 0.0f;
  constexpr int64_t kImages = 4;  // that stay in the first-level cache while all channels pass over them
  for (int64_t n = 0; n < s.n; n += kImages) {
    const int64_t count = Min(kImages, s.n - n);
    ForTiles(win, [&](int64_t r0, int64_t rows, int64_t v0, int64_t v) {
      WithTile(rows, v, [&](auto rows_constant, auto v_constant) {
        constexpr int R = decltype(rows_constant)::value, V = decltype(v_constant)::value;
        constexpr int NC = R * V * 2 <= kAccumulators ? 2 : 1;
        const int64_t x_offset = RunOffset(win, r0) + v0 * kLanes;
        float* to = sums + r0 * win.padded + v0 * kLanes;
        int64_t oc = channels.begin;
        for (; oc + NC <= channels.end; oc += NC)
          SumWeights<R, V, NC>(sum, images + n, count, x_offset, n, oc, to + oc * channel, win.padded, channel);
        for (; oc < channels.end; ++oc)
          SumWeights<R, V, 1>(sum, images + n, count, x_offset, n, oc, to + oc * channel, win.padded, channel);
      });
    });
  }
  const int64_t kernel = s.c * s.kh * s.kw;
  for (int64_t oc = channels.begin; oc < channels.end; ++oc)
    for (int64_t r = 0; r < win.runs; ++r)
      for (int64_t t = 0; t < win.length; ++t)
        a.dw[oc * kernel + WeightIndex(s, win, r, t)] = sums[oc * channel + r * win.padded + t];
}

// Channels of [first, first + count <= 64) whose winner is `position` and whose gradient is not zero, as bits.
TENON_INLINE uint64_t LiveChannels(const float* g, const uint8_t* winners, int64_t count, int position) {
  uint64_t bits = 0;
  int64_t i = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(position));
  for (; i + 16 <= count; i += 16) {
    unsigned won = 0xffff;
    if (winners != nullptr) {
      const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winners + i));
      won = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(w, wanted)));
    }
    unsigned zero = 0;
    TENON_UNROLL for (int q = 0; q < 4; ++q)
      zero |= static_cast<unsigned>(_mm_movemask_ps(_mm_cmpeq_ps(_mm_loadu_ps(g + i + 4 * q), _mm_setzero_ps()))) << (4 * q);
    bits |= static_cast<uint64_t>(won & ~zero) << i;
  }
#endif
  for (; i < count; ++i)
    bits |= static_cast<uint64_t>((winners == nullptr || winners[i] == position) && g[i] != 0.0f) << i;
  return bits;
}

void SpreadImage(const ConvPoolBackwardArgs& a, const Image& image, const Window& win, const SpreadTile* tiles,
                 int64_t tile_count, const float* weights, const float* g, const uint8_t* winners, float* dx) {
  const ConvPoolShape& s = a.shape;
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW(), channel = win.runs * win.padded;
  for (int64_t i = 0; i < image.size + kSlack; i += kLanes) StorePartial(dx + i, Zero(), image.size + kSlack - i);
  for (int64_t ph = 0; ph < pooled_h; ++ph)
    for (int64_t pw = 0; pw < pooled_w; ++pw, g += s.oc, winners += winners == nullptr ? 0 : s.oc) {
      float* first = dx + ph * s.pool_stride_h * s.stride_h * image.row + pw * s.pool_stride_w * s.stride_w * s.c;
      int position = 0;
      for (int64_t i = 0; i < s.pool_h; ++i)
        for (int64_t j = 0; j < s.pool_w; ++j, ++position) {
          float* window = first + i * s.stride_h * image.row + j * s.stride_w * s.c;
          for (int64_t c = 0; c < s.oc; c += 64) {
            const uint64_t live = LiveChannels(g + c, winners == nullptr ? nullptr : winners + c, Min(64, s.oc - c), position);
            if (live == 0) continue;
            for (int64_t t = 0; t < tile_count; ++t)
              tiles[t].add(live, g + c, weights + c * channel + tiles[t].weight_offset, win.padded, channel,
                           window + tiles[t].dx_offset, tiles[t].run_stride);
          }
        }
    }
}

TENON_INLINE double BackwardNanoseconds(const ConvPoolShape& s) {
  return static_cast<double>(s.n * s.PooledH() * s.PooledW()) * static_cast<double>(s.oc * s.c * s.kh * s.kw) / (1.5 * kLanes);
}

void ClearAll(const ConvPoolBackwardArgs& a) {
  const ConvPoolShape& s = a.shape;
  if (a.dw != nullptr)
    for (int64_t i = 0; i < s.oc * s.c * s.kh * s.kw; ++i) a.dw[i] = 0.0f;
  if (a.db != nullptr)
    for (int64_t i = 0; i < s.oc; ++i) a.db[i] = 0.0f;
  if (a.dx == nullptr) return;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t h = 0; h < s.h; ++h)
        for (int64_t w = 0; w < s.w; ++w)
          a.dx[n * a.dx_strides.n + c * a.dx_strides.c + h * a.dx_strides.h + w * a.dx_strides.w] = 0.0f;
}

}  // namespace

int64_t ConvPoolForwardWorkspace(const ConvPoolForwardArgs& a, int64_t threads) {
  if (Empty(a.shape)) return 0;
  const Image image = ImageOf(a.shape, a.x_strides);
  const ForwardSpace f = ForwardSpaceOf(a.shape, image, WindowOf(a.shape, image));
  return (f.weights + f.bias + (f.image + f.rows) * Max(1, threads)) * static_cast<int64_t>(sizeof(float));
}

void ConvPoolForward(const ConvPoolForwardArgs& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  if (Empty(s)) return;
  const Image image = ImageOf(s, a.x_strides);
  const Window win = WindowOf(s, image);
  const ForwardSpace f = ForwardSpaceOf(s, image, win);
  float* weights = workspace;
  float* bias = weights + f.weights;
  float* pieces_space = bias + f.bias;
  PackForwardWeights(s, win, a.weights, f.channels, weights);
  for (int64_t c = 0; c < f.channels; ++c) bias[c] = a.bias != nullptr && c < s.oc ? a.bias[c] : 0.0f;
  const int64_t pieces = Pieces(pool, s.n, ForwardNanoseconds(s));
  ForEach(pool, pieces, [&](int64_t i) {
    float* copy = pieces_space + i * (f.image + f.rows);
    const Range r = Piece(s.n, pieces, i);
    for (int64_t n = r.begin; n < r.end; ++n) {
      const float* x = a.x + n * a.x_strides.n;
      if (image.copy) {
        CopyImage(s, image, x, a.x_strides, copy, n == r.begin);
        x = copy;
      }
      ForwardImage(a, image, win, f, x, weights, bias, copy + f.image, n);
    }
  });
}

int64_t ConvPoolBackwardWorkspace(const ConvPoolBackwardArgs& a, int64_t threads) {
  if (Empty(a.shape)) return 0;
  const Image image = ImageOf(a.shape, a.x_strides);
  const Window win = WindowOf(a.shape, image);
  const BackwardSpace b = BackwardSpaceOf(a, image, win, threads);
  const int64_t pointers = RoundUp(2 * a.shape.n, 16);
  return (b.g + b.partial_bias + b.offsets + b.tiles + b.weights + b.sums + b.last_image + b.dx + pointers) *
         static_cast<int64_t>(sizeof(float));
}

void ConvPoolBackward(const ConvPoolBackwardArgs& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  if (Empty(s)) return ClearAll(a);
  // dx is built in the same padded form whatever the layout of x.
  const Image image = ImageOf(s, a.x_strides);
  const Window win = WindowOf(s, image);
  const BackwardSpace b = BackwardSpaceOf(a, image, win, pool.threads);
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW(), pooled = pooled_h * pooled_w;
  float* g = workspace;
  float* partial_bias = g + b.g;
  int64_t* offsets = reinterpret_cast<int64_t*>(partial_bias + b.partial_bias);
  SpreadTile* tiles = reinterpret_cast<SpreadTile*>(partial_bias + b.partial_bias + b.offsets);
  float* weights = partial_bias + b.partial_bias + b.offsets + b.tiles;
  float* sums = weights + b.weights;
  float* copies = sums + b.sums;
  float* dx_space = copies + b.last_image;
  const float** images = reinterpret_cast<const float**>(dx_space + b.dx);
  const int64_t bias_row = RoundUp(s.oc, kLanes), image_floats = RoundUp(image.size + kSlack, 16);
  for (int64_t i = 0; i < s.pool_h; ++i)
    for (int64_t j = 0; j < s.pool_w; ++j)
      offsets[i * s.pool_w + j] = i * s.stride_h * image.row + j * s.stride_w * s.c;
  const int64_t tile_count = a.dx == nullptr ? 0 : SpreadTiles(win, tiles);
  if (a.dx != nullptr) {
    const int64_t kernel = s.c * s.kh * s.kw;
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t r = 0; r < win.runs; ++r)
        for (int64_t t = 0; t < win.padded; ++t)
          weights[(oc * win.runs + r) * win.padded + t] = t < win.length ? a.weights[oc * kernel + WeightIndex(s, win, r, t)] : 0.0f;
  }
  const int64_t pieces = Pieces(pool, s.n, BackwardNanoseconds(s));
  // Per image: g, the part of db, dx, and the image as dw wants it.
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(s.n, pieces, i);
    float* dx = dx_space + (a.dx == nullptr ? 0 : i * image_floats);
    for (int64_t n = r.begin; n < r.end; ++n) {
      MaskGradient(a, n, pooled_h, pooled_w, g + n * pooled * s.oc, partial_bias + n * bias_row);
      if (a.dw != nullptr) {
        images[n] = a.x + n * a.x_strides.n;
        if (image.copy || n + 1 == s.n) {
          float* copy = copies + (image.copy ? n : 0) * image_floats;
          CopyImage(s, image, images[n], a.x_strides, copy, true);
          images[n] = copy;
        }
      }
      if (a.dx != nullptr) {
        SpreadImage(a, image, win, tiles, tile_count, weights, g + n * pooled * s.oc,
                    a.winners == nullptr ? nullptr : a.winners + n * pooled * s.oc, dx);
        CopyOut(s, image, dx, a.dx + n * a.dx_strides.n, a.dx_strides);
      }
    }
  });
  if (a.db != nullptr) {
    for (int64_t c = 0; c < s.oc; ++c) {
      float sum = 0;
      for (int64_t n = 0; n < s.n; ++n) sum += partial_bias[n * bias_row + c];
      a.db[c] = sum;
    }
  }
  if (a.dw == nullptr) return;
  WeightSum sum;
  sum.s = &s, sum.g = g, sum.g_image = pooled * s.oc, sum.winners = a.winners, sum.offsets = offsets;
  sum.pooled_h = pooled_h, sum.pooled_w = pooled_w;
  sum.step_h = s.pool_stride_h * s.stride_h * image.row, sum.step_w = s.pool_stride_w * s.stride_w * s.c;
  sum.run_stride = win.runs > 1 ? RunOffset(win, 1) : 0;
  const int64_t channel_pieces = Pieces(pool, CeilDiv(s.oc, 2), BackwardNanoseconds(s));
  ForEach(pool, channel_pieces, [&](int64_t i) {
    SumWeightChannels(a, win, sum, images, Piece(s.oc, channel_pieces, i, 2), sums);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

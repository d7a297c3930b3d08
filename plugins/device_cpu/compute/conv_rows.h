// Rows of convolution output and their pool. Lanes are output channels and a tile is a few pixels of one row; finished
// rows lie in a small buffer for the pool.
#pragma once

#include "plugins/device_cpu/compute/conv_image.h"
#include "plugins/device_cpu/compute/max_of_four.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {
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

// A part of the window: elements [first, first + length) of runs [begin, end).
struct WindowPart {
  int64_t begin, end, first, length;
  bool adds;          // to what earlier parts left in the output
  bool relu;          // the last part of a row that no pool follows
  const float* bias;  // of the channels of the tile; the first part begins with it
};

// P neighbouring output pixels by V vectors of output channels, over a part of the window. weights: those of the part.
template <int P, int V>
void ConvTile(const Window& win, const WindowPart& part, const float* x, int64_t pixel, const float* weights,
              float* out, int64_t out_pixel) {
  Vec acc[P][V];
  if (part.adds) {
    TENON_UNROLL for (int p = 0; p < P; ++p) TENON_UNROLL for (int v = 0; v < V; ++v) acc[p][v] =
        Load(out + p * out_pixel + v * kLanes);
  } else {
    TENON_UNROLL for (int v = 0; v < V; ++v) {
      const Vec bias = Load(part.bias + v * kLanes);
      TENON_UNROLL for (int p = 0; p < P; ++p) acc[p][v] = bias;
    }
  }
  const int64_t per_row = win.per_row;
  int64_t row = per_row == 1 ? part.begin : part.begin / per_row, column = per_row == 1 ? 0 : part.begin % per_row;
  for (int64_t run = part.begin; run < part.end; ++run) {
    const float* from = x + row * win.row_stride + column * win.run_stride + part.first;
    for (int64_t t = 0; t < part.length; ++t) {
      Vec w[V];
      TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(weights + v * kLanes);
      weights += V * kLanes;
      TENON_UNROLL for (int p = 0; p < P; ++p) {
        const Vec value = Set(from[p * pixel + t]);
        TENON_UNROLL for (int v = 0; v < V; ++v) acc[p][v] += value * w[v];
      }
    }
    if (++column == per_row) column = 0, ++row;
  }
  if (part.relu) {
    TENON_UNROLL for (int p = 0; p < P; ++p) TENON_UNROLL for (int v = 0; v < V; ++v) acc[p][v] = Relu(acc[p][v]);
  }
  TENON_UNROLL for (int p = 0; p < P; ++p) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(out + p * out_pixel + v * kLanes, acc[p][v]);
}

using ConvTileFn = void (*)(const Window&, const WindowPart&, const float*, int64_t, const float*, float*, int64_t);
template <int V, int... P>
TENON_INLINE void CallConvTile(int64_t pixels, const Window& win, const WindowPart& part, const float* x, int64_t pixel,
                               const float* weights, float* out, int64_t out_pixel) {
  static constexpr ConvTileFn kTable[] = {&ConvTile<P, V>...};
  kTable[pixels - 1](win, part, x, pixel, weights, out, out_pixel);
}

// The same for a whole window, one vector of output channels and steps of 1: neighbouring pixels share most of what they read, so
// each value is read once for all K columns of the window, whose weights of one input channel are in registers. (With a read
// for each product the reads would be what takes time.)
template <int P, int K>
void NearTile(const ConvPoolShape& s, const Window& win, const WindowPart& part, const float* x, const float* weights,
              float* out, int64_t out_pixel) {
  Vec acc[P];
  const Vec bias = Load(part.bias);
  TENON_UNROLL for (int p = 0; p < P; ++p) acc[p] = bias;
  const int64_t channels = s.c;
  for (int64_t run = 0; run < win.runs; ++run, x += win.row_stride, weights += K * channels * kLanes)
    for (int64_t c = 0; c < channels; ++c) {
      Vec w[K];
      TENON_UNROLL for (int k = 0; k < K; ++k) w[k] = Load(weights + (k * channels + c) * kLanes);
      const float* from = x + c;
      TENON_UNROLL for (int i = 0; i < P + K - 1; ++i, from += channels) {
        const Vec value = Set(*from);
        TENON_UNROLL for (int k = 0; k < K; ++k) if (i >= k && i - k < P) acc[i - k] += value * w[k];
      }
    }
  TENON_UNROLL for (int p = 0; p < P; ++p) Store(out + p * out_pixel, part.relu ? Relu(acc[p]) : acc[p]);
}

using NearTileFn = void (*)(const ConvPoolShape&, const Window&, const WindowPart&, const float*, const float*, float*,
                            int64_t);
template <int K, int... P>
TENON_INLINE NearTileFn NearTileOf(int64_t pixels) {
  static constexpr NearTileFn kTable[] = {&NearTile<P, K>...};
  return kTable[pixels - 1];
}
// Null where it is not used.
TENON_INLINE NearTileFn FindNearTile(const ConvPoolShape& s, int64_t pixels) {
#if TENON_CPU_LANES == 16
  if (s.stride_w != 1 || s.dilation_w != 1 || pixels < 4) return nullptr;
  if (s.kw == 3) return NearTileOf<3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(pixels);
  if (s.kw == 5) return NearTileOf<5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(pixels);
#endif
  (void)s, (void)pixels;
  return nullptr;
}

constexpr int64_t kPartFloats = 5 * 1024;  // weights of one part

// The part that begins at run `begin`, element `first`: as much of the window as keeps its weights in the first-level
// cache while all pixels of the row pass over them.
TENON_INLINE WindowPart NextPart(const Window& win, int64_t begin, int64_t first, int64_t width, const float* bias,
                                 bool relu) {
  const int64_t most = width == kLanes ? kPartFloats / kLanes : kPartFloats / (2 * kLanes);
  if (win.runs * win.length <= most) return {0, win.runs, 0, win.length, false, relu, bias};
  WindowPart part{begin, begin + 1, first, win.length - first, begin > 0 || first > 0, false, bias};
  if (first > 0 || win.length > most) {
    part.length = Min(part.length, CeilDiv(win.length, CeilDiv(win.length, most)));
  } else {
    const int64_t runs = Max(1, most / win.length), parts = CeilDiv(win.runs, runs);
    part.end = Min(win.runs, begin + CeilDiv(win.runs, parts));
  }
  part.relu = relu && part.end == win.runs && part.first + part.length == win.length;
  return part;
}

// One row of convolution output, bias included, [pixels][out_pixel] with `channels`, a multiple of kLanes, written of each
// pixel. relu: no pool follows that does it.
TENON_INLINE void ConvRow(const ConvPoolShape& s, const Window& win, const float* x, const float* weights,
                          const float* bias, int64_t pixels, int64_t channels, bool relu, float* out,
                          int64_t out_pixel) {
  const int64_t pixel = s.stride_w * s.c;
  for (int64_t first = 0; first < channels;) {
    const bool wide = channels - first > kLanes;
    const int64_t width = wide ? 2 * kLanes : kLanes;
    // Nearly equal tiles: the first `larger` have one pixel more. (Narrow divisions: these run once per row.)
    const uint32_t row = static_cast<uint32_t>(pixels);
    const uint32_t tiles = wide ? (row + kAccumulators / 2 - 1) / (kAccumulators / 2) : (row + 11) / 12;
    const int64_t smaller = row / tiles, larger = row % tiles;
    for (int64_t run = 0, element = 0; run < win.runs;) {
      const WindowPart part = NextPart(win, run, element, width, bias + first, relu);
      const float* from = x;
      float* to = out + first;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t count = smaller + (t < larger ? 1 : 0);
        const bool whole = !part.adds && part.length * part.end == win.length * win.runs;
        const NearTileFn near = wide || !whole ? nullptr : FindNearTile(s, count);
        if (near != nullptr)
          near(s, win, part, from, weights, to, out_pixel);
        else if (!wide)
          CallConvTile<1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(count, win, part, from, pixel, weights, to, out_pixel);
        else
#if TENON_CPU_LANES == 16
          CallConvTile<2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(count, win, part, from, pixel, weights, to, out_pixel);
#else
          CallConvTile<2, 1, 2, 3, 4, 5, 6>(count, win, part, from, pixel, weights, to, out_pixel);
#endif
        from += count * pixel;
        to += count * out_pixel;
      }
      weights += (part.end - part.begin) * part.length * width;
      element = part.first + part.length;
      if (element == win.length) run = part.end, element = 0;
    }
    first += width;
  }
}

// Maximum of a window of vectors, and its position. rows: the first value; PH, PW: 0 means as in the shape.
template <int PH, int PW>
TENON_INLINE void PoolVec(const ConvPoolShape& s, const float* values, int64_t row, int64_t pixel, Vec& best,
                          IVec& where) {
  if constexpr (PH == 2 && PW == 2)
    return MaxOfFour(Load(values), Load(values + pixel), Load(values + row), Load(values + row + pixel), best, where);
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
  const float* rows;  // pool_h rows of convolution output
  int64_t row, channels;
  float* y;  // first pooled pixel
  int64_t y_w, y_c;
  uint8_t* winners;  // or null
  int64_t room;      // elements from the first pooled pixel to the end of the dense image
};

template <int PH, int PW>
void PoolOneRow(const ConvPoolShape& s, const PoolRow& r, int64_t pooled) {
  for (int64_t p = 0; p < pooled; ++p) {
    const float* values = r.rows + p * s.pool_stride_w * r.channels;
    float* y = r.y + p * r.y_w;
    for (int64_t c = 0; c < s.oc; c += kLanes) {
      Vec best;
      IVec where;
      PoolVec<PH, PW>(s, values + c, r.row, r.channels, best, where);
      if (s.relu) best = Relu(best);
      const int64_t count = Min(kLanes, s.oc - c);
      // Lanes beyond oc fall on the next pixels, which are written afterwards.
      const bool fits = count == kLanes || p * s.oc + c + kLanes <= r.room;
      if (r.y_c == 1 && fits && (count == kLanes || r.y_w == s.oc)) {
        Store(y + c, best);
      } else if (r.y_c == 1) {
        StorePartial(y + c, best, count);
      } else {
        for (int64_t l = 0; l < count; ++l) y[(c + l) * r.y_c] = best[l];
      }
      if (r.winners == nullptr) continue;
      uint8_t* to = r.winners + p * s.oc + c;
      if (fits) {
        StoreBytes(to, where);
      } else {
        for (int64_t l = 0; l < count; ++l) to[l] = static_cast<uint8_t>(where[l]);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

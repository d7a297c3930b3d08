// Gradients of a convolution with activation and pool. Only the winner of each pooled pixel has a gradient, so both
// gradients are sums over pooled pixels of g times a window (of x, or of the weights). Without a pool they are dense.
#include "plugins/device_cpu/compute/conv_columns_gradient.h"
#include "plugins/device_cpu/compute/conv_gradient_tiles.h"
#include "plugins/device_cpu/compute/conv_patch.h"
#include "plugins/device_cpu/compute/conv_run_table.h"
#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/live_channels.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// A convolution without a pool: every pixel has a gradient in every channel. Lanes along the channels, if that fills them.
TENON_INLINE bool NoPool(const ConvPoolShape& s) { return s.pool_h == 1 && s.pool_w == 1; }
TENON_INLINE bool DenseWeights(const ConvPoolShape& s) { return NoPool(s) && s.oc >= kLanes / 2; }
// Stride 1: the gradient of x is a convolution of g with the turned weights.
TENON_INLINE bool TurnedData(const ConvPoolShape& s) {
  const int64_t reach_h = (s.kh - 1) * s.dilation_h, reach_w = (s.kw - 1) * s.dilation_w;
  return NoPool(s) && s.c >= kLanes / 2 && s.stride_h == 1 && s.stride_w == 1 && s.pool_stride_h == 1 &&
         s.pool_stride_w == 1 && s.pad_top <= reach_h && s.pad_bottom <= reach_h && s.pad_left <= reach_w &&
         s.pad_right <= reach_w;
}
TENON_INLINE ConvPoolShape TurnedShape(const ConvPoolShape& s) {
  ConvPoolShape t = s;
  t.c = s.oc, t.oc = s.c, t.h = s.ConvH(), t.w = s.ConvW(), t.relu = false;
  t.pad_top = (s.kh - 1) * s.dilation_h - s.pad_top, t.pad_bottom = (s.kh - 1) * s.dilation_h - s.pad_bottom;
  t.pad_left = (s.kw - 1) * s.dilation_w - s.pad_left, t.pad_right = (s.kw - 1) * s.dilation_w - s.pad_right;
  return t;
}
TENON_INLINE ConvPoolForwardArgs TurnedArgs(const ConvPoolBackwardArgs& a) {
  ConvPoolForwardArgs f;
  f.shape = TurnedShape(a.shape);
  f.x_strides = NhwcStrides(f.shape.c, f.shape.h, f.shape.w);
  f.y = a.dx;
  f.y_strides = a.dx_strides;
  return f;
}
// [c][oc][kh][kw] with both kernel axes reversed.
void TurnWeights(const ConvPoolShape& s, const float* weights, float* out) {
  const int64_t taps = s.kh * s.kw;
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t k = 0; k < taps; ++k)
        out[(c * s.oc + oc) * taps + k] = weights[(oc * s.c + c) * taps + taps - 1 - k];
}

// A piece of a window for SpreadWeights.
struct SpreadTile {
  void (*add)(uint64_t live, const float* g, const float* weights, int64_t weight_run, int64_t weight_channel,
              float* dx, int64_t run_stride);
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
  int64_t g, partial_bias, offsets;  // floats, shared by all pieces
  int64_t tiles;
  int64_t weights, sums;  // shared: packed weights, sums of dw
  int64_t last_image;     // images for dw that have to be copied
  int64_t dx;             // per piece
  int64_t images_copied;
  int64_t packed;  // per piece: g of one image for the dense weight gradient
  int64_t runs;    // per piece: tables of runs
  // With lanes of pooled columns: g turned, of all images; per piece g and winners of one image, and what dw needs.
  int64_t turned_g, one_g, one_winners, columns;
  bool turned;  // dx is a convolution; the space of dx is that of a forward call
};
TENON_INLINE BackwardSpace BackwardSpaceOf(const ConvPoolBackwardArgs& a, const Image& image, const Window& win,
                                           int64_t threads) {
  const ConvPoolShape& s = a.shape;
  BackwardSpace b;
  const int64_t pooled = s.PooledH() * s.PooledW();
  const bool columns = PooledColumns(s);
  b.one_g = RoundUp(pooled * s.oc + kSlack, 16);
  b.one_winners = columns && a.dx != nullptr ? RoundUp(CeilDiv(pooled * s.oc, 4), 16) : 0;
  b.g = columns ? (b.one_g + b.one_winners) * Max(1, threads) : RoundUp(s.n * pooled * s.oc + kSlack, 16);
  b.turned_g =
      columns && a.dw != nullptr ? RoundUp(s.n * s.oc * s.PooledH() * ColumnTableOf(s).vectors * kTurnedFloats, 16) : 0;
  b.columns = columns && a.dw != nullptr ? ColumnSpace(s) : 0;
  b.partial_bias = RoundUp(s.n * RoundUp(s.oc, kLanes), 16);
  b.offsets = RoundUp(2 * s.pool_h * s.pool_w, 16);
  b.tiles = a.dx == nullptr ? 0 : RoundUp(SpreadTiles(win, nullptr) * static_cast<int64_t>(sizeof(SpreadTile) / 4), 16);
  b.turned = a.dx != nullptr && TurnedData(s);
  b.weights = a.dx == nullptr ? 0 : UsePatches(s) ? PatchWeights(s) : RoundUp(s.oc * win.runs * win.padded, 16);
  b.sums = a.dw == nullptr ? 0
           : columns       ? s.oc * (s.kh * s.kw + 1) * kLanes
                           : RoundUp(RoundUp(s.oc, 2 * kLanes) * win.runs * win.padded, 16);
  // Reading whole vectors at the end of the caller's last image would leave it: that one is copied in any case.
  b.packed = a.dw != nullptr && DenseWeights(s) ? RoundUp(pooled * 2 * kLanes, 16) : 0;
  b.runs =
      a.dw != nullptr && !columns && UseRunTable(s, image, win) ? kTableImages * RunTableOf(s, image, win).size : 0;
  b.images_copied = a.dw == nullptr || columns ? 0 : image.copy ? s.n : 1;
  b.last_image = b.images_copied * RoundUp(image.size + kSlack, 16);
  b.dx = a.dx == nullptr ? 0
         : b.turned
             ? RoundUp(ConvPoolForwardWorkspace(TurnedArgs(a), threads) / static_cast<int64_t>(sizeof(float)), 16)
             : RoundUp(image.size + kSlack, 16) * Max(1, threads);
  return b;
}

// The same from planes [oc][pooled] to channel-last g.
void MaskPlanes(const float* dy, const float* y, int64_t oc, int64_t pooled, float* g) {
  const auto one = [&](int64_t c, int64_t p) {
    const int64_t at = c * pooled + p;
    g[p * oc + c] = y == nullptr || !(y[at] <= 0) ? dy[at] : 0.0f;
  };
  int64_t c = 0;
  for (; c + kLanes <= oc; c += kLanes) {
    int64_t p = 0;
    for (; p + kLanes <= pooled; p += kLanes) {
      Vec t[kLanes];
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) {
        const int64_t at = (c + i) * pooled + p;
        t[i] = y == nullptr ? Load(dy + at) : KeepWhere(~(Load(y + at) <= Zero()), Load(dy + at));
      }
      Transpose(t);
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) Store(g + (p + i) * oc + c, t[i]);
    }
    for (; p < pooled; ++p)
      for (int64_t i = 0; i < kLanes; ++i) one(c + i, p);
  }
  for (; c < oc; ++c)
    for (int64_t p = 0; p < pooled; ++p) one(c, p);
}

// g of one image, channel-last and zero where the activation was not above 0; the image's part of db, if `bias` is given.
void MaskGradient(const ConvPoolBackwardArgs& a, int64_t n, int64_t pooled_h, int64_t pooled_w, float* g, float* bias) {
  const ConvPoolShape& s = a.shape;
  const int64_t oc = s.oc, pooled = pooled_h * pooled_w;
  const float* dy = a.dy + n * a.dy_strides.n;
  const float* y = s.relu ? a.y + n * a.y_strides.n : nullptr;
  auto channel_last = [&](const Strides4& t) { return t.c == 1 && t.w == oc && t.h == oc * pooled_w; };
  auto planes = [&](const Strides4& t) { return t.w == 1 && t.h == pooled_w && t.c == pooled; };
  if (channel_last(a.dy_strides) && (y == nullptr || channel_last(a.y_strides))) {
    const int64_t count = pooled * oc;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const Vec v = Load(dy + i);
      Store(g + i, y == nullptr ? v : KeepWhere(~(Load(y + i) <= Zero()), v));
    }
    for (; i < count; ++i) g[i] = y == nullptr || !(y[i] <= 0) ? dy[i] : 0.0f;
  } else if (planes(a.dy_strides) && (y == nullptr || planes(a.y_strides))) {
    MaskPlanes(dy, y, oc, pooled, g);
  } else {
    for (int64_t h = 0; h < pooled_h; ++h)
      for (int64_t c = 0; c < oc; ++c)
        for (int64_t w = 0; w < pooled_w; ++w) {
          const float v = dy[h * a.dy_strides.h + w * a.dy_strides.w + c * a.dy_strides.c];
          const bool keep = y == nullptr || !(y[h * a.y_strides.h + w * a.y_strides.w + c * a.y_strides.c] <= 0);
          g[(h * pooled_w + w) * oc + c] = keep ? v : 0.0f;
        }
  }
  if (bias == nullptr) return;
  for (int64_t c = 0; c < oc; c += kLanes) {
    Vec sum[2] = {Zero(), Zero()};
    int64_t p = 0;
    if (c + kLanes <= oc || oc % kLanes == 0) {
      for (; p + 2 <= pooled; p += 2) TENON_UNROLL for (int k = 0; k < 2; ++k) sum[k] += Load(g + (p + k) * oc + c);
      for (; p < pooled; ++p) sum[0] += Load(g + p * oc + c);
    } else {
      // Whole vectors while they stay inside this image's part, whose neighbours other threads write.
      const int64_t safe = (pooled * oc - kLanes - c) / oc;
      for (; p + 2 <= safe; p += 2) TENON_UNROLL for (int k = 0; k < 2; ++k) sum[k] += Load(g + (p + k) * oc + c);
      for (; p < pooled; ++p) sum[0] += LoadPartial(g + p * oc + c, oc - c);
    }
    StorePartial(bias + c, sum[0] + sum[1], Min(kLanes, oc - c));
  }
}

void SumWeightChannels(const ConvPoolBackwardArgs& a, const Image& image, const Window& win, const WeightSum& sum,
                       const float* const* images, Range channels, float* table, float* sums) {
  const ConvPoolShape& s = a.shape;
  const int64_t channel = win.runs * win.padded;
  for (int64_t i = channels.begin * channel; i < channels.end * channel; ++i) sums[i] = 0.0f;
  // Images that stay in the first-level cache while all channels pass over them.
  const int64_t together = table == nullptr ? 4 : kTableImages;
  const RunTable runs = RunTableOf(s, image, win);
  const float* tables[kTableImages];
  for (int64_t n = 0; n < s.n; n += together) {
    const int64_t count = Min(together, s.n - n);
    const float* const* from = images + n;
    if (table != nullptr) {
      for (int64_t i = 0; i < count; ++i) {
        tables[i] = table + i * runs.size;
        FillRunTable(s, image, win, runs, images[n + i], table + i * runs.size);
      }
      from = tables;
    }
    ForTiles(win, [&](int64_t r0, int64_t rows, int64_t v0, int64_t v) {
      WithTile(rows, v, [&](auto rows_constant, auto v_constant) {
        constexpr int R = decltype(rows_constant)::value, V = decltype(v_constant)::value;
        constexpr int NC = R * V * 2 <= kAccumulators ? 2 : 1;
        const int64_t x_offset = (table != nullptr ? r0 * sum.run_stride : RunOffset(win, r0)) + v0 * kLanes;
        float* to = sums + r0 * win.padded + v0 * kLanes;
        int64_t oc = channels.begin;
        for (; oc + NC <= channels.end; oc += NC)
          SumWeights<R, V, NC>(sum, from, count, x_offset, n, oc, to + oc * channel, win.padded, channel);
        for (; oc < channels.end; ++oc)
          SumWeights<R, V, 1>(sum, from, count, x_offset, n, oc, to + oc * channel, win.padded, channel);
      });
    });
  }
  const int64_t kernel = s.c * s.kh * s.kw;
  for (int64_t r = 0; r < win.runs; ++r)
    for (int64_t t = 0; t < win.length; ++t) {
      float* to = a.dw + WeightIndex(s, win, r, t);
      const float* from = sums + r * win.padded + t;
      for (int64_t oc = channels.begin; oc < channels.end; ++oc) to[oc * kernel] = from[oc * channel];
    }
}

// Unit u of the dense weight gradient: one run of the window, one block of two vectors of channels.
void SumDenseUnit(const ConvPoolBackwardArgs& a, const Window& win, const WeightSum& sum, const float* const* images,
                  int64_t unit, float* packed, float* sums) {
  const ConvPoolShape& s = a.shape;
  const int64_t channels = RoundUp(s.oc, kLanes), run = unit % win.runs, c0 = unit / win.runs * 2 * kLanes;
  const bool wide = s.oc - c0 > kLanes;
  const int64_t most = wide ? kAccumulators / 2 : 12, tiles = CeilDiv(win.length, most);
  const int64_t pixels = sum.pooled_h * sum.pooled_w, width = wide ? 2 * kLanes : kLanes;
  float* to = sums + run * win.length * channels + c0;
  for (int64_t t = 0; t < win.length; ++t)
    for (int64_t c = 0; c < Min(channels - c0, 2 * kLanes); ++c) to[t * channels + c] = 0.0f;
  for (int64_t n = 0; n < s.n; ++n) {
    const float* x = images[n] + RunOffset(win, run);
    // The unit's channels of g side by side: at the distance of all channels they would meet in few sets of the cache.
    const float* g = packed;
    const float* from = sum.g + n * sum.g_image + c0;
    for (int64_t p = 0; p < pixels; ++p, from += s.oc) {
      Store(packed + p * width, Load(from));
      if (wide) Store(packed + p * width + kLanes, Load(from + kLanes));
    }
    for (int64_t i = 0; i < tiles; ++i) {
      const Range t = Piece(win.length, tiles, i);
      float* at = to + t.begin * channels;
      if (!wide)
        CallSumDense<1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(t.end - t.begin, sum, x + t.begin, g, at, channels);
      else
#if TENON_CPU_LANES == 16
        CallSumDense<2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(t.end - t.begin, sum, x + t.begin, g, at, channels);
#else
        CallSumDense<2, 1, 2, 3, 4, 5, 6>(t.end - t.begin, sum, x + t.begin, g, at, channels);
#endif
    }
  }
  const int64_t kernel = s.c * s.kh * s.kw;
  for (int64_t t = 0; t < win.length; ++t)
    for (int64_t c = 0; c < Min(s.oc - c0, 2 * kLanes); ++c)
      a.dw[(c0 + c) * kernel + WeightIndex(s, win, run, t)] = to[t * channels + c];
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
            const uint64_t live =
                LiveChannels(g + c, winners == nullptr ? nullptr : winners + c, Min(64, s.oc - c), position);
            if (live == 0) continue;
            for (int64_t t = 0; t < tile_count; ++t)
              tiles[t].add(live, g + c, weights + c * channel + tiles[t].weight_offset, win.padded, channel,
                           window + tiles[t].dx_offset, tiles[t].run_stride);
          }
        }
    }
}

TENON_INLINE double BackwardNanoseconds(const ConvPoolShape& s) {
  return static_cast<double>(s.n * s.PooledH() * s.PooledW()) * static_cast<double>(s.oc * s.c * s.kh * s.kw) /
         (1.5 * kLanes);
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

int64_t ConvPoolBackwardWorkspace(const ConvPoolBackwardArgs& a, int64_t threads) {
  if (Empty(a.shape)) return 0;
  const Image image = ImageOf(a.shape, a.x_strides);
  const Window win = WindowOf(a.shape, image);
  const BackwardSpace b = BackwardSpaceOf(a, image, win, threads);
  const int64_t pointers = RoundUp(2 * a.shape.n, 16);
  return (b.g + b.partial_bias + b.offsets + b.tiles + b.weights + b.sums + b.last_image + b.dx + pointers +
          b.turned_g + (b.packed + b.columns + b.runs) * Max(1, threads)) *
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
  float* packed_space = dx_space + b.dx + RoundUp(2 * s.n, 16);
  float* turned_space = packed_space + b.packed * Max(1, pool.threads);
  float* column_space = turned_space + b.turned_g;
  const ColumnTable table = ColumnTableOf(s);
  const TurnedGradient turned_g{
      turned_space, reinterpret_cast<Sides*>(turned_space + s.n * s.oc * pooled_h * table.vectors * kLanes)};
  const bool columns = PooledColumns(s), sums_bias = columns && a.dw != nullptr;  // db with dw
  const int64_t bias_row = RoundUp(s.oc, kLanes), image_floats = RoundUp(image.size + kSlack, 16);
  for (int64_t i = 0; i < s.pool_h; ++i)
    for (int64_t j = 0; j < s.pool_w; ++j)
      offsets[i * s.pool_w + j] = i * s.stride_h * image.row + j * s.stride_w * s.c;
  const int64_t tile_count = a.dx == nullptr ? 0 : SpreadTiles(win, tiles);
  const bool spread = a.dx != nullptr && !b.turned;
  if (b.turned) {
    TurnWeights(s, a.weights, weights);
  } else if (spread && UsePatches(s)) {
    PackPatchWeights(s, win, a.weights, weights);
  } else if (spread) {
    const int64_t kernel = s.c * s.kh * s.kw;
    const int64_t channel = win.runs * win.padded;
    for (int64_t r = 0; r < win.runs; ++r)
      for (int64_t t = 0; t < win.padded; ++t) {
        const float* from = t < win.length ? a.weights + WeightIndex(s, win, r, t) : nullptr;
        float* to = weights + r * win.padded + t;
        for (int64_t oc = 0; oc < s.oc; ++oc) to[oc * channel] = from != nullptr ? from[oc * kernel] : 0.0f;
      }
  }
  const int64_t pieces = Pieces(pool, s.n, BackwardNanoseconds(s));
  // Per image: g, the part of db, dx, and the image as dw wants it.
  ForEach(pool, pieces, [&](int64_t i) {
    const Range r = Piece(s.n, pieces, i);
    float* dx = dx_space + (spread ? i * image_floats : 0);
    for (int64_t n = r.begin; n < r.end; ++n) {
      float* image_g = columns ? g + i * (b.one_g + b.one_winners) : g + n * pooled * s.oc;
      const uint8_t* winners = a.winners == nullptr ? nullptr : a.winners + n * pooled * s.oc;
      MaskGradient(a, n, pooled_h, pooled_w, image_g,
                   a.db == nullptr || sums_bias ? nullptr : partial_bias + n * bias_row);
      if (a.dw != nullptr && columns) {
        TurnGradient(s, table, image_g, winners, turned_g + n * s.oc * pooled_h * table.vectors);
      } else if (a.dw != nullptr) {
        images[n] = a.x + n * a.x_strides.n;
        if (image.copy || n + 1 == s.n) {
          float* copy = copies + (image.copy ? n : 0) * image_floats;
          CopyImage(s, image, images[n], a.x_strides, copy, true);
          images[n] = copy;
        }
      }
      if (!spread) continue;
      if (columns) {
        uint8_t* turned = reinterpret_cast<uint8_t*>(image_g + b.one_g);
        TurnWinners(s, winners, turned);
        winners = turned;
      }
      if (UsePatches(s))
        PatchImage(s, image, weights, image_g, winners, dx);
      else
        SpreadImage(a, image, win, tiles, tile_count, weights, image_g, winners, dx);
      CopyOut(s, image, dx, a.dx + n * a.dx_strides.n, a.dx_strides);
    }
  });
  if (a.db != nullptr && !sums_bias) {
    for (int64_t c = 0; c < s.oc; ++c) {
      float sum = 0;
      for (int64_t n = 0; n < s.n; ++n) sum += partial_bias[n * bias_row + c];
      a.db[c] = sum;
    }
  }
  if (b.turned) {
    ConvPoolForwardArgs f = TurnedArgs(a);
    f.x = g;
    f.weights = weights;
    ConvPoolForward(f, dx_space, pool);
  }
  if (a.dw == nullptr) return;
  if (columns) {
    const int64_t column_pieces = Pieces(pool, s.oc, BackwardNanoseconds(s));
    return ForEach(pool, column_pieces, [&](int64_t i) {
      SumColumnChannels(a, turned_g, Piece(s.oc, column_pieces, i), column_space + i * b.columns, sums);
    });
  }
  WeightSum sum;
  sum.s = &s, sum.g = g, sum.g_image = pooled * s.oc, sum.winners = a.winners, sum.offsets = offsets;
  sum.pooled_h = pooled_h, sum.pooled_w = pooled_w;
  sum.step_h = s.pool_stride_h * s.stride_h * image.row, sum.step_w = s.pool_stride_w * s.stride_w * s.c;
  sum.run_stride = win.runs > 1 ? RunOffset(win, 1) : 0;
  if (DenseWeights(s)) {
    const int64_t units = win.runs * CeilDiv(s.oc, 2 * kLanes);
    const int64_t dense_pieces = Pieces(pool, units, BackwardNanoseconds(s));
    return ForEach(pool, dense_pieces, [&](int64_t i) {
      const Range r = Piece(units, dense_pieces, i);
      float* packed = packed_space + i * b.packed;
      for (int64_t u = r.begin; u < r.end; ++u) SumDenseUnit(a, win, sum, images, u, packed, sums);
    });
  }
  float* run_space = nullptr;
  if (b.runs != 0) {
    const RunTable runs = RunTableOf(s, image, win);
    run_space = column_space;
    for (int64_t i = 0; i < s.pool_h; ++i)
      for (int64_t j = 0; j < s.pool_w; ++j) offsets[i * s.pool_w + j] = i * s.stride_h * runs.row + j * win.padded;
    sum.step_h = s.pool_stride_h * s.stride_h * runs.row, sum.step_w = s.pool_stride_w * win.padded;
    sum.run_stride = s.dilation_h * runs.row;
  }
  const int64_t channel_pieces = Pieces(pool, CeilDiv(s.oc, 2), BackwardNanoseconds(s));
  ForEach(pool, channel_pieces, [&](int64_t i) {
    float* runs = run_space == nullptr ? nullptr : run_space + i * b.runs;
    SumWeightChannels(a, image, win, sum, images, Piece(s.oc, channel_pieces, i, 2), runs, sums);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

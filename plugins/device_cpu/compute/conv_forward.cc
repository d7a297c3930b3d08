// Direct convolution, activation and pool in one pass over each image.
#include "plugins/device_cpu/compute/conv_columns.h"
#include "plugins/device_cpu/compute/conv_rows.h"
#include "plugins/device_cpu/compute/isa_functions.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct ForwardSpace {
  int64_t weights, bias, image, rows;  // floats
  int64_t channels;                    // oc rounded up to whole vectors
  int64_t row_floats;                  // with columns: of one channel
  bool columns, pooled_columns;
};
TENON_INLINE ForwardSpace ForwardSpaceOf(const ConvPoolShape& s, const Image& image, const Window& win) {
  ForwardSpace f;
  f.columns = UseColumns(s);
  f.pooled_columns = PooledColumns(s);
  f.channels = RoundUp(s.oc, kLanes);
  f.weights = RoundUp(win.runs * win.length * f.channels, 16);
  f.bias = RoundUp(f.channels, 16);
  f.image = RoundUp(image.size + kSlack, 16);
  f.row_floats = f.columns ? RoundUp(s.ConvW(), 2 * kLanes) : s.ConvW() * f.channels;
  f.rows = f.pooled_columns ? image.h * ColumnTableOf(s).row + f.channels * kLanes + RoundUp(s.h * s.w, 16)
                            : RoundUp((f.columns ? s.oc : 1) * f.row_floats * s.pool_h + kSlack, 16);
  return f;
}

// A row of pixels with their channels side by side, as a row of each channel.
void StoreTurned(const ConvPoolShape& s, const float* row, int64_t channels, int64_t width, float* y, int64_t y_c) {
  for (int64_t p = 0; p < width; p += kLanes) {
    const int64_t pixels = Min(kLanes, width - p);
    for (int64_t c = 0; c < s.oc; c += kLanes) {
      Vec block[kLanes] = {};
      for (int64_t i = 0; i < pixels; ++i) block[i] = Load(row + (p + i) * channels + c);
      Transpose(block);
      for (int64_t l = 0; l < Min(kLanes, s.oc - c); ++l)
        StorePartial(y + (c + l) * y_c + p, s.relu ? Relu(block[l]) : block[l], pixels);
    }
  }
}

void ForwardPooledColumns(const ConvPoolForwardArgs& a, const Image& image, const float* weights, const float* bias,
                          float* rows, int64_t n) {
  const ConvPoolShape& s = a.shape;
  const ColumnTable t = ColumnTableOf(s);
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW(), groups = CeilDiv(s.oc, kPooledChannels);
  float* values = rows + image.h * t.row;
  int64_t x_row;
  const float* x = SideBySide(s, a.x + n * a.x_strides.n, a.x_strides, values + RoundUp(s.oc, kLanes) * kLanes, x_row);
  FillColumns(s, t, x, x_row, {0, 2 * pooled_h + s.kh - 1}, rows);
  for (int64_t ph = 0; ph < pooled_h; ++ph) {
    for (int64_t v = 0; v < t.vectors; ++v) {
      const int64_t p = v * kLanes;
      for (int64_t g = 0; g < groups; ++g) {
        const Range c = Piece(s.oc, groups, g);
        PooledVector to;
        to.bias = bias + c.begin, to.values = values + c.begin * kLanes;
        to.winners = a.winners == nullptr ? nullptr : a.winners + ((n * pooled_h + ph) * s.oc + c.begin) * pooled_w + p;
        to.channel = pooled_w, to.columns = Min(kLanes, pooled_w - p);
        to.ascending = t.vectors == 1, to.room = ((pooled_h - ph) * s.oc - c.begin) * pooled_w;
        const float* from = rows + 2 * ph * t.row + v * t.vector;
        CallPooledColumnTile(c.end - c.begin, s, from, t.row, weights + c.begin * s.kh * s.kw, to);
      }
      StoreColumns(s, values, Min(kLanes, pooled_w - p),
                   a.y + n * a.y_strides.n + ph * a.y_strides.h + p * a.y_strides.w, a.y_strides.w, a.y_strides.c,
                   ((pooled_h - ph) * pooled_w - p) * s.oc);
    }
  }
}

void ForwardImage(const ConvPoolForwardArgs& a, const Image& image, const Window& win, const ForwardSpace& f,
                  const float* x, const float* weights, const float* bias, float* rows, int64_t n) {
  const ConvPoolShape& s = a.shape;
  const int64_t pooled_h = s.PooledH(), pooled_w = s.PooledW();
  // Without a pool rows go straight to y, if whole vectors of channels fit there.
  const bool plain = !f.columns && s.pool_h == 1 && s.pool_w == 1 && s.pool_stride_h == 1 && s.pool_stride_w == 1 &&
                     a.winners == nullptr;
  const bool direct = plain && a.y_strides.c == 1 && s.oc % kLanes == 0;
  const bool turned = plain && a.y_strides.c != 1 && a.y_strides.w == 1;
  const int64_t conv_w = Min(s.ConvW(), (pooled_w - 1) * s.pool_stride_w + s.pool_w);
  for (int64_t ph = 0; ph < pooled_h; ++ph) {
    if (direct) {
      ConvRow(s, win, x + ph * s.stride_h * image.row, weights, bias, conv_w, f.channels, s.relu,
              a.y + n * a.y_strides.n + ph * a.y_strides.h, a.y_strides.w);
      continue;
    }
    for (int64_t i = 0; i < s.pool_h; ++i) {
      const float* from = x + (ph * s.pool_stride_h + i) * s.stride_h * image.row;
      if (f.columns)
        ColumnRow(s, from, image.row, weights, conv_w, rows + i * s.oc * f.row_floats, f.row_floats);
      else
        ConvRow(s, win, from, weights, bias, conv_w, f.channels, false, rows + i * f.row_floats, f.channels);
    }
    if (turned) {
      StoreTurned(s, rows, f.channels, pooled_w, a.y + n * a.y_strides.n + ph * a.y_strides.h, a.y_strides.c);
      continue;
    }
    PoolRow r;
    r.rows = rows, r.row = f.row_floats, r.channels = f.channels;
    r.y = a.y + n * a.y_strides.n + ph * a.y_strides.h;
    r.y_w = a.y_strides.w, r.y_c = a.y_strides.c;
    r.room = (pooled_h - ph) * pooled_w * s.oc;
    r.winners = a.winners == nullptr ? nullptr : a.winners + (n * pooled_h + ph) * pooled_w * s.oc;
    if (f.columns) {
      if (s.pool_h == 2)
        PoolColumns<true>(s, r, bias, pooled_w);
      else
        PoolColumns<false>(s, r, bias, pooled_w);
    } else if (s.pool_h == 2 && s.pool_w == 2) {
      PoolOneRow<2, 2>(s, r, pooled_w);
    } else if (s.pool_h == 1 && s.pool_w == 1) {
      PoolOneRow<1, 1>(s, r, pooled_w);
    } else {
      PoolOneRow<0, 0>(s, r, pooled_w);
    }
  }
}

TENON_INLINE double ForwardNanoseconds(const ConvPoolShape& s) {
  return static_cast<double>(s.n * s.ConvH() * s.ConvW()) * static_cast<double>(s.oc * s.c * s.kh * s.kw) /
         (2.5 * kLanes);
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
  if (f.columns || f.pooled_columns)
    PackColumnWeights(s, f.columns ? kColumnChannels : kPooledChannels, a.weights, weights);
  else
    PackForwardWeights(s, win, a.weights, f.channels, weights);
  for (int64_t c = 0; c < f.channels; ++c) bias[c] = a.bias != nullptr && c < s.oc ? a.bias[c] : 0.0f;
  const int64_t pieces = Pieces(pool, s.n, ForwardNanoseconds(s));
  ForEach(pool, pieces, [&](int64_t i) {
    float* copy = pieces_space + i * (f.image + f.rows);
    const Range r = Piece(s.n, pieces, i);
    for (int64_t n = r.begin; n < r.end; ++n) {
      if (f.pooled_columns) {
        ForwardPooledColumns(a, image, weights, bias, copy + f.image, n);
        continue;
      }
      const float* x = a.x + n * a.x_strides.n;
      // Whole vectors of columns may end behind the image: the caller's last one is never read in place.
      if (image.copy || (f.columns && n + 1 == s.n)) {
        CopyImage(s, image, x, a.x_strides, copy, n == r.begin || !image.copy);
        x = copy;
      }
      ForwardImage(a, image, win, f, x, weights, bias, copy + f.image, n);
    }
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

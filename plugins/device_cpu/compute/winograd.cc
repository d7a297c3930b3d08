#include "plugins/device_cpu/compute/winograd.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kPoints = 16;                   // products of a tile of 2x2 outputs
constexpr int kRows = kAccumulators / 2;      // of a register tile, by two vectors
constexpr int64_t kBlockFloats = 256 * 1024;  // of transformed tiles that are at work at a time

// Matrices [point][row][leading] of transformed tiles or weights. Rows are a vector apart from a power of two, so that
// neighbouring ones do not meet in few sets of the cache.
TENON_INLINE int64_t Leading(int64_t channels) { return channels + 16; }

struct Tiles {
  int64_t rows, columns, count;  // of one image; of all
  int64_t block;                 // tiles at work at a time
};
TENON_INLINE Tiles TilesOf(const WinogradShape& s) {
  Tiles t;
  t.rows = CeilDiv(s.OutH(), 2), t.columns = CeilDiv(s.OutW(), 2), t.count = s.n * t.rows * t.columns;
  const int64_t fit = kBlockFloats / (kPoints * (Leading(s.c) + Leading(s.oc)));
  const int64_t most = Max(4, fit / kRows) * kRows;
  t.block = CeilDiv(t.count, CeilDiv(Max(1, t.count), most));
  return t;
}

// Where tile number i begins in the output.
struct Place {
  int64_t n, row, column;
};
TENON_INLINE Place PlaceOf(const Tiles& t, int64_t i) {
  const int64_t in_image = i % (t.rows * t.columns);
  return {i / (t.rows * t.columns), in_image / t.columns * 2, in_image % t.columns * 2};
}

TENON_INLINE Vec Masked(const float* x, const float* mask, int64_t at) {
  const Vec v = Load(x + at);
  return mask == nullptr ? v : KeepWhere(~(Load(mask + at) <= Zero()), v);
}

// out[i] = B^T d for one column of four.
TENON_INLINE void TransformInput(Vec a, Vec b, Vec c, Vec d, Vec& o0, Vec& o1, Vec& o2, Vec& o3) {
  o0 = a - c, o1 = b + c, o2 = c - b, o3 = b - d;
}

// V = B^T d B of tile `tile`, an area of 4x4 pixels of x (zero outside), to row `row` of the 16 matrices.
void InputTile(const WinogradShape& s, const float* x, const float* mask, const Place& p, float* v, int64_t row,
               int64_t matrix) {
  const int64_t top = p.row - s.pad_top, left = p.column - s.pad_left, leading = Leading(s.c);
  const bool inside = top >= 0 && left >= 0 && top + 4 <= s.h && left + 4 <= s.w;
  for (int64_t c = 0; c < s.c; c += kLanes) {
    Vec d[4][4];
    TENON_UNROLL for (int i = 0; i < 4; ++i) TENON_UNROLL for (int j = 0; j < 4; ++j) {
      const int64_t h = top + i, w = left + j;
      const bool here = inside || (h >= 0 && h < s.h && w >= 0 && w < s.w);
      d[i][j] = here ? Masked(x, mask, ((p.n * s.h + h) * s.w + w) * s.c + c) : Zero();
    }
    Vec t[4][4];
    TENON_UNROLL for (int j = 0; j < 4; ++j)
        TransformInput(d[0][j], d[1][j], d[2][j], d[3][j], t[0][j], t[1][j], t[2][j], t[3][j]);
    float* to = v + row * leading + c;
    TENON_UNROLL for (int i = 0; i < 4; ++i) {
      Vec o[4];
      TransformInput(t[i][0], t[i][1], t[i][2], t[i][3], o[0], o[1], o[2], o[3]);
      TENON_UNROLL for (int j = 0; j < 4; ++j) Store(to + (i * 4 + j) * matrix, o[j]);
    }
  }
}

// Y = A^T m A: four outputs from row `row` of the 16 matrices, with bias and activation.
void OutputTile(const WinogradForwardArgs& a, const Place& p, const float* m, int64_t row, int64_t matrix) {
  const WinogradShape& s = a.shape;
  const int64_t out_h = s.OutH(), out_w = s.OutW(), leading = Leading(s.oc);
  const int64_t rows = Min(2, out_h - p.row), columns = Min(2, out_w - p.column);
  for (int64_t c = 0; c < s.oc; c += kLanes) {
    const float* from = m + row * leading + c;
    Vec t[2][4];
    TENON_UNROLL for (int j = 0; j < 4; ++j) {
      Vec q[4];
      TENON_UNROLL for (int i = 0; i < 4; ++i) q[i] = Load(from + (i * 4 + j) * matrix);
      t[0][j] = q[0] + q[1] + q[2];
      t[1][j] = q[1] - q[2] - q[3];
    }
    const Vec bias = a.bias == nullptr ? Zero() : Load(a.bias + c);
    TENON_UNROLL for (int i = 0; i < 2; ++i) {
      Vec y[2] = {t[i][0] + t[i][1] + t[i][2] + bias, t[i][1] - t[i][2] - t[i][3] + bias};
      TENON_UNROLL for (int j = 0; j < 2; ++j) {
        if (i < rows && j < columns)
          Store(a.y + ((p.n * out_h + p.row + i) * out_w + p.column + j) * s.oc + c, a.relu ? Relu(y[j]) : y[j]);
      }
    }
  }
}

// A dy A^T of the 2x2 outputs of a tile, the reverse of OutputTile.
void GradientTile(const WinogradWeightsArgs& a, const Place& p, float* m, int64_t row, int64_t matrix) {
  const WinogradShape& s = a.shape;
  const int64_t out_h = s.OutH(), out_w = s.OutW(), leading = Leading(s.oc);
  const int64_t rows = Min(2, out_h - p.row), columns = Min(2, out_w - p.column);
  for (int64_t c = 0; c < s.oc; c += kLanes) {
    Vec g[2][2];
    TENON_UNROLL for (int i = 0; i < 2; ++i) TENON_UNROLL for (int j = 0; j < 2; ++j) {
      const int64_t at = ((p.n * out_h + p.row + i) * out_w + p.column + j) * s.oc + c;
      g[i][j] = i < rows && j < columns ? Masked(a.dy, a.mask, at) : Zero();
    }
    Vec t[4][2];
    TENON_UNROLL for (int j = 0; j < 2; ++j) t[0][j] = g[0][j], t[1][j] = g[0][j] + g[1][j],
                                             t[2][j] = g[0][j] - g[1][j], t[3][j] = -g[1][j];
    float* to = m + row * leading + c;
    TENON_UNROLL for (int i = 0; i < 4; ++i) {
      Store(to + (i * 4) * matrix, t[i][0]);
      Store(to + (i * 4 + 1) * matrix, t[i][0] + t[i][1]);
      Store(to + (i * 4 + 2) * matrix, t[i][0] - t[i][1]);
      Store(to + (i * 4 + 3) * matrix, -t[i][1]);
    }
  }
}

// ---- weights

// G w G^T of the weights of input channel c and a vector of output channels from oc on: w[tap] are vectors over oc.
TENON_INLINE void TransformWeights(const Vec (&w)[9], Vec (&u)[kPoints]) {
  const Vec half = Set(0.5f);
  Vec t[4][3];
  TENON_UNROLL for (int j = 0; j < 3; ++j) {
    const Vec outer = (w[j] + w[6 + j]) * half, middle = w[3 + j] * half;
    t[0][j] = w[j], t[1][j] = outer + middle, t[2][j] = outer - middle, t[3][j] = w[6 + j];
  }
  TENON_UNROLL for (int i = 0; i < 4; ++i) {
    const Vec outer = (t[i][0] + t[i][2]) * half, middle = t[i][1] * half;
    u[i * 4] = t[i][0], u[i * 4 + 1] = outer + middle, u[i * 4 + 2] = outer - middle, u[i * 4 + 3] = t[i][2];
  }
}

// Width of the block of output channels that begins at `first`: two vectors, or the one that is left.
TENON_INLINE int64_t WidthAt(int64_t first, int64_t channels) { return Min(2 * kLanes, channels - first); }

// U as [point][block of output channels][c][width], for the blocks of `blocks`.
void PackWeights(const WinogradForwardArgs& a, Range blocks, float* u) {
  const int64_t channels = a.shape.c, out_channels = a.shape.oc;
  const int64_t lane = a.turned ? 9 : channels * 9, element = a.turned ? out_channels * 9 : 9;
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const int64_t first = b * 2 * kLanes, width = WidthAt(first, out_channels);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t v = 0; v < width; v += kLanes) {
        const float* from = a.weights + (first + v) * lane + c * element;
        Vec w[9], point[kPoints];
        TENON_UNROLL for (int k = 0; k < 9; ++k) {
          const float* tap = from + (a.turned ? 8 - k : k);
          TENON_UNROLL for (int l = 0; l < kLanes; ++l) w[k][l] = tap[l * lane];
        }
        TransformWeights(w, point);
        float* to = u + first * channels + c * width + v;
        TENON_UNROLL for (int i = 0; i < kPoints; ++i) Store(to + i * channels * out_channels, point[i]);
      }
  }
}

// G^T du G: the gradient of the weights of channels [channels) from the 16 sums [point][c][leading].
void UnpackWeights(const WinogradShape& s, const float* du, Range channels, float* dw) {
  const int64_t leading = Leading(s.oc), matrix = s.c * leading;
  const Vec half = Set(0.5f);
  for (int64_t c = channels.begin; c < channels.end; ++c)
    for (int64_t oc = 0; oc < s.oc; oc += kLanes) {
      const float* from = du + c * leading + oc;
      Vec t[3][4];
      TENON_UNROLL for (int j = 0; j < 4; ++j) {
        Vec q[4];
        TENON_UNROLL for (int i = 0; i < 4; ++i) q[i] = Load(from + (i * 4 + j) * matrix);
        const Vec sum = (q[1] + q[2]) * half;
        t[0][j] = q[0] + sum, t[1][j] = (q[1] - q[2]) * half, t[2][j] = sum + q[3];
      }
      TENON_UNROLL for (int i = 0; i < 3; ++i) {
        const Vec sum = (t[i][1] + t[i][2]) * half;
        const Vec w[3] = {t[i][0] + sum, (t[i][1] - t[i][2]) * half, sum + t[i][3]};
        TENON_UNROLL for (int j = 0; j < 3; ++j) TENON_UNROLL for (int l = 0; l < kLanes; ++l)
            dw[((oc + l) * s.c + c) * 9 + i * 3 + j] = w[j][l];
      }
    }
}

// ---- products

// R rows of `a` by V vectors of packed `b` [k][V * kLanes] -> out.
template <int R, int V>
void ProductTile(const float* a, int64_t a_row, const float* b, int64_t k, float* out, int64_t out_row) {
  Vec acc[R][V];
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = Zero();
  for (int64_t i = 0; i < k; ++i, b += V * kLanes) {
    Vec w[V];
    TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(b + v * kLanes);
    TENON_UNROLL for (int r = 0; r < R; ++r) {
      const Vec value = Set(a[r * a_row + i]);
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] += value * w[v];
    }
  }
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(out + r * out_row + v * kLanes, acc[r][v]);
}

// out [R][V vectors] += sum over rows of a[row][r] * b[row][v].
template <int R, int V>
void SumTile(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t rows, float* out, int64_t out_row) {
  Vec acc[R][V];
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] =
      Load(out + r * out_row + v * kLanes);
  for (int64_t i = 0; i < rows; ++i, a += a_row, b += b_row) {
    Vec w[V];
    TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(b + v * kLanes);
    TENON_UNROLL for (int r = 0; r < R; ++r) {
      const Vec value = Set(a[r]);
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] += value * w[v];
    }
  }
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(out + r * out_row + v * kLanes, acc[r][v]);
}

#if TENON_CPU_LANES == 16
#define TENON_ROWS 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
#else
#define TENON_ROWS 1, 2, 3, 4, 5, 6
#endif
using ProductFn = void (*)(const float*, int64_t, const float*, int64_t, float*, int64_t);
template <int V, int... R>
TENON_INLINE ProductFn FindProduct(int64_t rows) {
  static constexpr ProductFn kTable[] = {&ProductTile<R, V>...};
  return kTable[rows - 1];
}
using SumFn = void (*)(const float*, int64_t, const float*, int64_t, int64_t, float*, int64_t);
template <int V, int... R>
TENON_INLINE SumFn FindSum(int64_t rows) {
  static constexpr SumFn kTable[] = {&SumTile<R, V>...};
  return kTable[rows - 1];
}

// One of the 16 products: m [rows][oc] = v [rows][c] * u.
void Product(const WinogradShape& s, const float* v, int64_t rows, const float* u, float* m) {
  const int64_t v_row = Leading(s.c), m_row = Leading(s.oc), panels = CeilDiv(rows, kRows);
  for (int64_t first = 0; first < s.oc; first += 2 * kLanes) {
    const int64_t width = WidthAt(first, s.oc);
    for (int64_t i = 0; i < panels; ++i) {
      const Range r = Piece(rows, panels, i);
      const ProductFn f =
          width == kLanes ? FindProduct<1, TENON_ROWS>(r.end - r.begin) : FindProduct<2, TENON_ROWS>(r.end - r.begin);
      f(v + r.begin * v_row, v_row, u + first * s.c, s.c, m + r.begin * m_row + first, m_row);
    }
  }
}

// One of the 16 sums: du [c][oc] += v^T [c][rows] * m [rows][oc].
void Sum(const WinogradShape& s, const float* v, int64_t rows, const float* m, float* du) {
  const int64_t v_row = Leading(s.c), m_row = Leading(s.oc), panels = CeilDiv(s.c, kRows);
  for (int64_t first = 0; first < s.oc; first += 2 * kLanes) {
    const int64_t width = WidthAt(first, s.oc);
    for (int64_t i = 0; i < panels; ++i) {
      const Range c = Piece(s.c, panels, i);
      const SumFn f =
          width == kLanes ? FindSum<1, TENON_ROWS>(c.end - c.begin) : FindSum<2, TENON_ROWS>(c.end - c.begin);
      f(v + c.begin, v_row, m + first, m_row, rows, du + c.begin * m_row + first, m_row);
    }
  }
}

TENON_INLINE double Nanoseconds(const WinogradShape& s, const Tiles& t) {
  return static_cast<double>(t.count * kPoints) * static_cast<double>(s.c * s.oc) / (2.5 * kLanes);
}

// Floats of the transformed tiles of one piece of work.
TENON_INLINE int64_t TileFloats(const WinogradShape& s, const Tiles& t) {
  return kPoints * t.block * (Leading(s.c) + Leading(s.oc));
}

}  // namespace

int64_t WinogradForwardWorkspace(const WinogradForwardArgs& a, int64_t threads) {
  const WinogradShape& s = a.shape;
  return (kPoints * s.c * s.oc + Max(1, threads) * TileFloats(s, TilesOf(s))) * static_cast<int64_t>(sizeof(float));
}

void WinogradForward(const WinogradForwardArgs& a, float* workspace, const Parallel& pool) {
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf(s);
  float* const u = workspace;
  float* const space = u + kPoints * s.c * s.oc;
  const int64_t weight_blocks = CeilDiv(s.oc, 2 * kLanes);
  const int64_t weight_pieces = Pieces(pool, weight_blocks, 0.3 * static_cast<double>(kPoints * s.c * s.oc));
  ForEach(pool, weight_pieces, [&](int64_t i) { PackWeights(a, Piece(weight_blocks, weight_pieces, i), u); });
  const int64_t blocks = CeilDiv(t.count, t.block), pieces = Pieces(pool, blocks, Nanoseconds(s, t));
  ForEach(pool, pieces, [&](int64_t piece) {
    float* const v = space + piece * TileFloats(s, t);
    float* const m = v + kPoints * t.block * Leading(s.c);
    const int64_t v_matrix = t.block * Leading(s.c), m_matrix = t.block * Leading(s.oc);
    const Range r = Piece(blocks, pieces, piece);
    for (int64_t b = r.begin; b < r.end; ++b) {
      const int64_t first = b * t.block, rows = Min(t.block, t.count - first);
      for (int64_t i = 0; i < rows; ++i) InputTile(s, a.x, a.mask, PlaceOf(t, first + i), v, i, v_matrix);
      for (int64_t i = 0; i < kPoints; ++i) Product(s, v + i * v_matrix, rows, u + i * s.c * s.oc, m + i * m_matrix);
      for (int64_t i = 0; i < rows; ++i) OutputTile(a, PlaceOf(t, first + i), m, i, m_matrix);
    }
  });
}

int64_t WinogradWeightsWorkspace(const WinogradWeightsArgs& a, int64_t) {
  const WinogradShape& s = a.shape;
  return (kPoints * s.c * Leading(s.oc) + TileFloats(s, TilesOf(s))) * static_cast<int64_t>(sizeof(float));
}

void WinogradWeights(const WinogradWeightsArgs& a, float* workspace, const Parallel& pool) {
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf(s);
  const int64_t du_matrix = s.c * Leading(s.oc), v_matrix = t.block * Leading(s.c), m_matrix = t.block * Leading(s.oc);
  float* const du = workspace;
  float* const v = du + kPoints * du_matrix;
  float* const m = v + kPoints * v_matrix;
  const double nanoseconds = Nanoseconds(s, t) * static_cast<double>(t.block) / static_cast<double>(t.count);
  for (int64_t first = 0; first < t.count; first += t.block) {
    const int64_t rows = Min(t.block, t.count - first);
    const int64_t tile_pieces = Pieces(pool, rows, 0.1 * nanoseconds);
    ForEach(pool, tile_pieces, [&](int64_t piece) {
      const Range r = Piece(rows, tile_pieces, piece);
      for (int64_t i = r.begin; i < r.end; ++i) {
        const Place p = PlaceOf(t, first + i);
        InputTile(s, a.x, nullptr, p, v, i, v_matrix);
        GradientTile(a, p, m, i, m_matrix);
      }
    });
    const int64_t point_pieces = Pieces(pool, kPoints, nanoseconds);
    ForEach(pool, point_pieces, [&](int64_t piece) {
      const Range r = Piece(kPoints, point_pieces, piece);
      for (int64_t i = r.begin; i < r.end; ++i) {
        float* const to = du + i * du_matrix;
        if (first == 0)
          for (int64_t k = 0; k < du_matrix; k += kLanes) Store(to + k, Zero());
        Sum(s, v + i * v_matrix, rows, m + i * m_matrix, to);
      }
    });
  }
  const int64_t channel_pieces = Pieces(pool, s.c, 0.3 * static_cast<double>(kPoints * s.c * s.oc));
  ForEach(pool, channel_pieces, [&](int64_t i) { UnpackWeights(s, du, Piece(s.c, channel_pieces, i), a.dw); });
  if (a.db == nullptr) return;
  MaskArgs sums;
  sums.rows = s.n * s.OutH() * s.OutW(), sums.columns = s.oc;
  sums.dy = a.dy, sums.y = a.mask, sums.column_sums = a.db;
  MaskGradient(sums, pool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

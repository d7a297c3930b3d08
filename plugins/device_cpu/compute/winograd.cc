#include "plugins/device_cpu/compute/winograd.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/pairs.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kPoints = 16;                   // products of a tile of 2x2 outputs
constexpr int kRows = kAccumulators / 2;      // of a register tile, by two vectors
constexpr int64_t kBlockFloats = 256 * 1024;  // of transformed tiles that are at work at a time, while
constexpr int64_t kFewTiles =
    12 * kRows;  // are not less than these: each block of tiles reads all weights, or writes all sums

// Matrices [point][row][leading] of transformed tiles or weights, numbers of the format that is multiplied. Rows are a vector apart from a power of two, so that
// neighbouring ones do not meet in few sets of the cache.
TENON_INLINE int64_t Leading(int64_t channels) { return channels + 16; }

// From one of the 16 matrices to the next, in elements of four bytes: an odd number of cache lines, since all 16 are written at once.
TENON_INLINE int64_t Apart(int64_t elements) { return (CeilDiv(elements, 16) | 1) * 16; }

template <class T>
using Element = typename PackedAs<T>::Type;
// A number of an operand whose elements are of E.
template <class E>
struct NumberOf {
  using Type = float;
};
template <>
struct NumberOf<Pair> {
  using Type = Bf16;
};
template <class E>
using Number = typename NumberOf<E>::Type;

struct Tiles {
  int64_t rows, columns, count;  // of one image; of all
  int64_t block;                 // tiles at work at a time, a multiple of kPack
};
// `floats`: what one tile takes in one matrix of inputs and one of outputs.
TENON_INLINE Tiles TilesOf(const WinogradShape& s, int64_t floats) {
  Tiles t;
  t.rows = CeilDiv(s.OutH(), 2), t.columns = CeilDiv(s.OutW(), 2), t.count = s.n * t.rows * t.columns;
  const int64_t most = Max(kFewTiles, kBlockFloats / (kPoints * floats) / kRows * kRows);
  t.block = RoundUp(CeilDiv(t.count, CeilDiv(Max(1, t.count), most)), 2);
  return t;
}
template <class E>
TENON_INLINE Tiles ForwardTiles(const WinogradShape& s) {
  return TilesOf(s, Leading(s.c) / kPack<E> + Leading(s.oc));
}
template <class E>
TENON_INLINE Tiles GradientTiles(const WinogradShape& s) {
  return TilesOf(s, (Leading(s.c) + Leading(s.oc)) / kPack<E>);
}

// Where tile number i begins in the output.
struct Place {
  int64_t n, row, column;
};
TENON_INLINE Place PlaceOf(const Tiles& t, int64_t i) {
  const int64_t in_image = i % (t.rows * t.columns);
  return {i / (t.rows * t.columns), in_image / t.columns * 2, in_image % t.columns * 2};
}

template <class T>
TENON_INLINE Vec Masked(const T* x, const T* mask, int64_t at) {
  const Vec v = Load(x + at);
  return mask == nullptr ? v : KeepWhere(~(Load(mask + at) <= Zero()), v);
}

// out[i] = B^T d for one column of four.
TENON_INLINE void TransformInput(Vec a, Vec b, Vec c, Vec d, Vec& o0, Vec& o1, Vec& o2, Vec& o3) {
  o0 = a - c, o1 = b + c, o2 = c - b, o3 = b - d;
}

// V = B^T d B of an area of 4x4 pixels of x (zero outside), of channels c and on, for the 16 matrices.
template <class T>
TENON_INLINE void InputPoints(const WinogradShape& s, const T* x, const T* mask, const Place& p, int64_t c,
                              Vec (&out)[kPoints]) {
  const int64_t top = p.row - s.pad_top, left = p.column - s.pad_left;
  const bool inside = top >= 0 && left >= 0 && top + 4 <= s.h && left + 4 <= s.w;
  Vec d[4][4];
  TENON_UNROLL for (int i = 0; i < 4; ++i) TENON_UNROLL for (int j = 0; j < 4; ++j) {
    const int64_t h = top + i, w = left + j;
    const bool here = inside || (h >= 0 && h < s.h && w >= 0 && w < s.w);
    d[i][j] = here ? Masked(x, mask, ((p.n * s.h + h) * s.w + w) * s.c + c) : Zero();
  }
  Vec t[4][4];
  TENON_UNROLL for (int j = 0; j < 4; ++j)
      TransformInput(d[0][j], d[1][j], d[2][j], d[3][j], t[0][j], t[1][j], t[2][j], t[3][j]);
  TENON_UNROLL for (int i = 0; i < 4; ++i)
      TransformInput(t[i][0], t[i][1], t[i][2], t[i][3], out[i * 4], out[i * 4 + 1], out[i * 4 + 2], out[i * 4 + 3]);
}

// Those of a tile to row `row` of the 16 matrices, neighbouring channels together.
template <class T, class N>
void InputTile(const WinogradShape& s, const T* x, const T* mask, const Place& p, N* v, int64_t row, int64_t matrix) {
  for (int64_t c = 0; c < s.c; c += kLanes) {
    Vec points[kPoints];
    InputPoints(s, x, mask, p, c, points);
    N* const to = v + row * Leading(s.c) + c;
    TENON_UNROLL for (int i = 0; i < kPoints; ++i) Store(to + i * matrix, points[i]);
  }
}

// Y = A^T m A: four outputs from row `row` of the 16 matrices, with bias and activation.
template <class T>
void OutputTile(const WinogradForwardArgsOf<T>& a, const Place& p, const float* m, int64_t row, int64_t matrix) {
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

// A dy A^T of the 2x2 outputs of a tile, the reverse of OutputTile, of channels c and on.
template <class T>
TENON_INLINE void GradientPoints(const WinogradWeightsArgsOf<T>& a, const Place& p, int64_t c, Vec (&out)[kPoints]) {
  const WinogradShape& s = a.shape;
  const int64_t out_h = s.OutH(), out_w = s.OutW();
  const int64_t rows = Min(2, out_h - p.row), columns = Min(2, out_w - p.column);
  Vec g[2][2];
  TENON_UNROLL for (int i = 0; i < 2; ++i) TENON_UNROLL for (int j = 0; j < 2; ++j) {
    const int64_t at = ((p.n * out_h + p.row + i) * out_w + p.column + j) * s.oc + c;
    g[i][j] = i < rows && j < columns ? Masked(a.dy, a.mask, at) : Zero();
  }
  Vec t[4][2];
  TENON_UNROLL for (int j = 0; j < 2; ++j) t[0][j] = g[0][j], t[1][j] = g[0][j] + g[1][j], t[2][j] = g[0][j] - g[1][j],
                                           t[3][j] = -g[1][j];
  TENON_UNROLL for (int i = 0; i < 4; ++i) {
    out[i * 4] = t[i][0], out[i * 4 + 1] = t[i][0] + t[i][1];
    out[i * 4 + 2] = t[i][0] - t[i][1], out[i * 4 + 3] = -t[i][1];
  }
}

// Row i / kPack of the 16 matrices: what points(place, channel, vectors) gives for tile i, of pairs also for the next one.
template <class E, class F>
TENON_INLINE void StoreAcross(const Tiles& t, int64_t first, int64_t i, int64_t tiles, int64_t channels, E* to,
                              int64_t matrix, const F& points) {
  const Place place = PlaceOf(t, first + i), next = PlaceOf(t, first + Min(i + 1, tiles - 1));
  to += i / kPack<E> * Leading(channels);
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vec own[kPoints];
    points(place, c, own);
    if constexpr (kPack<E> == 2) {
      Vec other[kPoints];
      points(next, c, other);
      TENON_UNROLL for (int k = 0; k < kPoints; ++k) own[k] = RoundToPairs(own[k], i + 1 < tiles ? other[k] : Zero());
    }
    TENON_UNROLL for (int k = 0; k < kPoints; ++k) Store(to + k * matrix + c, own[k]);
  }
}

// ---- weights

// G w G^T of the weights of input channel c and a vector of output channels from oc on: w[tap] are vectors over oc.
TENON_INLINE void TransformWeights(const Vec* w, Vec (&u)[kPoints]) {
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

// The weights of kLanes input channels and a vector of output channels, both beginning at `from`: [channel][tap] are
// vectors over output channels.
template <class T, class W>
TENON_INLINE void LoadTaps(const WinogradForwardArgsOf<T>& a, const W* from, Vec (&taps)[9 * kLanes]) {
  Vec t[kLanes];
  if (!a.turned) {
    for (int k = 0; k < 9 * kLanes; k += kLanes) {
      TENON_UNROLL for (int l = 0; l < kLanes; ++l) t[l] = Load(from + l * a.shape.c * 9 + k);
      Transpose(t);
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) taps[k + i] = t[i];
    }
    return;
  }
  for (int c = 0; c < kLanes; ++c, from += a.shape.oc * 9) {
    // The next channels' rows are far away.
    for (int64_t i = 0; i < 9 * kLanes; i += 64 / static_cast<int64_t>(sizeof(W)))
      __builtin_prefetch(from + kLanes * a.shape.oc * 9 + i);
    TENON_UNROLL for (int k = 0; k < 9; k += kLanes) {
      const int count = k + kLanes <= 9 ? kLanes : 9 - k;
      TENON_UNROLL for (int l = 0; l < kLanes; ++l) t[l] = LoadPartial(from + l * 9 + k, count);
      Transpose(t);
      TENON_UNROLL for (int i = 0; i < count; ++i) taps[c * 9 + 8 - k - i] = t[i];
    }
  }
}

// From one matrix of U to the next.
template <class E>
TENON_INLINE int64_t WeightMatrix(const WinogradShape& s) {
  return Apart(s.c * s.oc / kPack<E>);
}

// U as [point][block of output channels][c / kPack][width], for the blocks of `blocks`.
template <class T, class W>
void PackWeights(const WinogradForwardArgsOf<T>& a, const W* weights, Range blocks, Element<T>* u) {
  using E = Element<T>;
  const int64_t channels = a.shape.c, out_channels = a.shape.oc, matrix = WeightMatrix<E>(a.shape);
  const int64_t lane = a.turned ? 9 : channels * 9, element = a.turned ? out_channels * 9 : 9;
  Vec taps[9 * kLanes];
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const int64_t first = b * 2 * kLanes, width = WidthAt(first, out_channels);
    for (int64_t c0 = 0; c0 < channels; c0 += kLanes)
      for (int64_t v = 0; v < width; v += kLanes) {
        LoadTaps(a, weights + (first + v) * lane + c0 * element, taps);
        for (int64_t c = 0; c < kLanes; c += kPack<E>) {
          Vec point[kPoints];
          TransformWeights(taps + c * 9, point);
          if constexpr (kPack<E> == 2) {
            Vec next[kPoints];
            TransformWeights(taps + (c + 1) * 9, next);
            TENON_UNROLL for (int i = 0; i < kPoints; ++i) point[i] = RoundToPairs(point[i], next[i]);
          }
          E* const to = u + (first * channels + (c0 + c) * width) / kPack<E> + v;
          TENON_UNROLL for (int i = 0; i < kPoints; ++i) Store(to + i * matrix, point[i]);
        }
      }
  }
}

// G^T du G for one channel and a vector of output channels: the gradients of nine weights from 16 sums.
TENON_INLINE void TransformSums(const float* from, int64_t matrix, Vec* w) {
  const Vec half = Set(0.5f);
  Vec t[3][4];
  TENON_UNROLL for (int j = 0; j < 4; ++j) {
    Vec q[4];
    TENON_UNROLL for (int i = 0; i < 4; ++i) q[i] = Load(from + (i * 4 + j) * matrix);
    const Vec sum = (q[1] + q[2]) * half;
    t[0][j] = q[0] + sum, t[1][j] = (q[1] - q[2]) * half, t[2][j] = sum + q[3];
  }
  TENON_UNROLL for (int i = 0; i < 3; ++i) {
    const Vec sum = (t[i][1] + t[i][2]) * half;
    w[i * 3] = t[i][0] + sum, w[i * 3 + 1] = (t[i][1] - t[i][2]) * half, w[i * 3 + 2] = sum + t[i][3];
  }
}

// The gradient of the weights of channels [channels), whose ends are multiples of kLanes, from the 16 sums
// [point][c][leading].
template <class T>
void UnpackWeights(const WinogradShape& s, const float* du, Range channels, T* dw) {
  const int64_t leading = Leading(s.oc), matrix = Apart(s.c * leading);
  Vec taps[9 * kLanes], t[kLanes];
  for (int64_t c0 = channels.begin; c0 < channels.end; c0 += kLanes)
    for (int64_t oc = 0; oc < s.oc; oc += kLanes) {
      for (int c = 0; c < kLanes; ++c) TransformSums(du + (c0 + c) * leading + oc, matrix, taps + c * 9);
      for (int k = 0; k < 9 * kLanes; k += kLanes) {
        TENON_UNROLL for (int i = 0; i < kLanes; ++i) t[i] = taps[k + i];
        Transpose(t);
        TENON_UNROLL for (int l = 0; l < kLanes; ++l) Store(dw + ((oc + l) * s.c + c0) * 9 + k, t[l]);
      }
    }
}

// ---- products

// R rows of `a` by V vectors of packed `b` [k][V * kLanes] -> out.
template <class E, int R, int V>
void ProductTile(const E* a, int64_t a_row, const E* b, int64_t k, float* out, int64_t out_row) {
  Vec acc[R][V];
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = Zero();
  for (int64_t i = 0; i < k; ++i, b += V * kLanes) {
    Vec w[V];
    TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(b + v * kLanes);
    TENON_UNROLL for (int r = 0; r < R; ++r) {
      const E value = a[r * a_row + i];
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = AddProduct(acc[r][v], value, w[v]);
    }
  }
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v)
      Store(out + r * out_row + v * kLanes, acc[r][v]);
}

// out [R][V vectors] = sum over rows of a[row][r] * b[row][v], added to what is there if `add`.
template <class E, int R, int V>
void SumTile(const E* a, int64_t a_row, const E* b, int64_t b_row, int64_t rows, bool add, float* out,
             int64_t out_row) {
  Vec acc[R][V];
  TENON_UNROLL for (int r = 0; r < R; ++r) TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] =
      add ? Load(out + r * out_row + v * kLanes) : Zero();
  for (int64_t i = 0; i < rows; ++i, a += a_row, b += b_row) {
    Vec w[V];
    TENON_UNROLL for (int v = 0; v < V; ++v) w[v] = Load(b + v * kLanes);
    TENON_UNROLL for (int r = 0; r < R; ++r) {
      const E value = a[r];
      TENON_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = AddProduct(acc[r][v], value, w[v]);
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
template <class E>
using ProductFn = void (*)(const E*, int64_t, const E*, int64_t, float*, int64_t);
template <class E, int V, int... R>
TENON_INLINE ProductFn<E> FindProduct(int64_t rows) {
  static constexpr ProductFn<E> kTable[] = {&ProductTile<E, R, V>...};
  return kTable[rows - 1];
}
template <class E>
using SumFn = void (*)(const E*, int64_t, const E*, int64_t, int64_t, bool, float*, int64_t);
template <class E, int V, int... R>
TENON_INLINE SumFn<E> FindSum(int64_t rows) {
  static constexpr SumFn<E> kTable[] = {&SumTile<E, R, V>...};
  return kTable[rows - 1];
}

// One of the 16 products: m [rows][oc] = v [rows][c] * u.
template <class E>
void Product(const WinogradShape& s, const E* v, int64_t rows, const E* u, float* m) {
  const int64_t v_row = Leading(s.c) / kPack<E>, m_row = Leading(s.oc), panels = CeilDiv(rows, kRows);
  const int64_t k = s.c / kPack<E>;
  for (int64_t first = 0; first < s.oc; first += 2 * kLanes) {
    const int64_t width = WidthAt(first, s.oc);
    for (int64_t i = 0; i < panels; ++i) {
      const Range r = Piece(rows, panels, i);
      const ProductFn<E> f = width == kLanes ? FindProduct<E, 1, TENON_ROWS>(r.end - r.begin)
                                             : FindProduct<E, 2, TENON_ROWS>(r.end - r.begin);
      f(v + r.begin * v_row, v_row, u + first * k, k, m + r.begin * m_row + first, m_row);
    }
  }
}

// One of the 16 sums: du [c][oc] = v^T [c][rows] * m [rows][oc], added if `add`; rows counts elements of E.
template <class E>
void Sum(const WinogradShape& s, const E* v, int64_t rows, const E* m, bool add, float* du) {
  const int64_t v_row = Leading(s.c), m_row = Leading(s.oc), panels = CeilDiv(s.c, kRows);
  for (int64_t first = 0; first < s.oc; first += 2 * kLanes) {
    const int64_t width = WidthAt(first, s.oc);
    for (int64_t i = 0; i < panels; ++i) {
      const Range c = Piece(s.c, panels, i);
      const SumFn<E> f =
          width == kLanes ? FindSum<E, 1, TENON_ROWS>(c.end - c.begin) : FindSum<E, 2, TENON_ROWS>(c.end - c.begin);
      f(v + c.begin, v_row, m + first, m_row, rows, add, du + c.begin * m_row + first, m_row);
    }
  }
}

TENON_INLINE double Nanoseconds(const WinogradShape& s, const Tiles& t) {
  return static_cast<double>(t.count * kPoints) * static_cast<double>(s.c * s.oc) / (2.5 * kLanes);
}

// From one matrix of transformed inputs of a block to the next, and of outputs.
template <class E>
TENON_INLINE int64_t InputMatrix(const WinogradShape& s, const Tiles& t) {
  return Apart(t.block / kPack<E> * Leading(s.c));
}
template <class E>
TENON_INLINE int64_t OutputMatrix(const WinogradShape& s, const Tiles& t) {
  return Apart(t.block / kPack<E> * Leading(s.oc));
}
// Floats of both of one piece of work.
template <class E>
TENON_INLINE int64_t ForwardFloats(const WinogradShape& s, const Tiles& t) {
  return kPoints * (InputMatrix<E>(s, t) + OutputMatrix<float>(s, t));
}

}  // namespace

template <class T>
int64_t WinogradForwardWorkspace(const WinogradForwardArgsOf<T>& a, int64_t threads) {
  const WinogradShape& s = a.shape;
  using E = Element<T>;
  const int64_t tiles = Max(1, threads) * ForwardFloats<E>(s, ForwardTiles<E>(s));
  return (kPoints * WeightMatrix<E>(s) + tiles) * static_cast<int64_t>(sizeof(float));
}

template <class T>
void WinogradForward(const WinogradForwardArgsOf<T>& a, float* workspace, const Parallel& pool) {
  using E = Element<T>;
  const WinogradShape& s = a.shape;
  const Tiles t = ForwardTiles<E>(s);
  E* const u = reinterpret_cast<E*>(workspace);
  float* const space = workspace + kPoints * WeightMatrix<E>(s);
  const int64_t weight_blocks = CeilDiv(s.oc, 2 * kLanes);
  const int64_t weight_pieces = Pieces(pool, weight_blocks, 0.3 * static_cast<double>(kPoints * s.c * s.oc));
  ForEach(pool, weight_pieces, [&](int64_t i) {
    const Range part = Piece(weight_blocks, weight_pieces, i);
    if (a.wide_weights != nullptr)
      PackWeights(a, a.wide_weights, part, u);
    else
      PackWeights(a, a.weights, part, u);
  });
  const int64_t blocks = CeilDiv(t.count, t.block), pieces = Pieces(pool, blocks, Nanoseconds(s, t));
  ForEach(pool, pieces, [&](int64_t piece) {
    float* const v_space = space + piece * ForwardFloats<E>(s, t);
    float* const m = v_space + kPoints * InputMatrix<E>(s, t);
    const E* const v = reinterpret_cast<const E*>(v_space);
    const int64_t v_matrix = InputMatrix<E>(s, t), m_matrix = OutputMatrix<float>(s, t);
    const Range r = Piece(blocks, pieces, piece);
    for (int64_t b = r.begin; b < r.end; ++b) {
      const int64_t first = b * t.block, rows = Min(t.block, t.count - first);
      for (int64_t i = 0; i < rows; ++i)
        InputTile(s, a.x, a.mask, PlaceOf(t, first + i), reinterpret_cast<Number<E>*>(v_space), i, v_matrix * kPack<E>);
      for (int64_t i = 0; i < kPoints; ++i)
        Product(s, v + i * v_matrix, rows, u + i * WeightMatrix<E>(s), m + i * m_matrix);
      for (int64_t i = 0; i < rows; ++i) OutputTile(a, PlaceOf(t, first + i), m, i, m_matrix);
    }
  });
}

template <class T>
int64_t WinogradWeightsWorkspace(const WinogradWeightsArgsOf<T>& a, int64_t) {
  using E = Element<T>;
  const WinogradShape& s = a.shape;
  const Tiles t = GradientTiles<E>(s);
  const int64_t floats = Apart(s.c * Leading(s.oc)) + InputMatrix<E>(s, t) + OutputMatrix<E>(s, t);
  return kPoints * floats * static_cast<int64_t>(sizeof(float));
}

template <class T>
void WinogradWeights(const WinogradWeightsArgsOf<T>& a, float* workspace, const Parallel& pool) {
  using E = Element<T>;
  const WinogradShape& s = a.shape;
  const Tiles t = GradientTiles<E>(s);
  const int64_t du_matrix = Apart(s.c * Leading(s.oc));
  const int64_t v_matrix = InputMatrix<E>(s, t), m_matrix = OutputMatrix<E>(s, t);
  float* const du = workspace;
  E* const v = reinterpret_cast<E*>(du + kPoints * du_matrix);
  E* const m = v + kPoints * v_matrix;
  const double nanoseconds = Nanoseconds(s, t) * static_cast<double>(t.block) / static_cast<double>(t.count);
  for (int64_t first = 0; first < t.count; first += t.block) {
    const int64_t tiles = Min(t.block, t.count - first), rows = CeilDiv(tiles, kPack<E>);
    const int64_t tile_pieces = Pieces(pool, rows, 0.1 * nanoseconds);
    ForEach(pool, tile_pieces, [&](int64_t piece) {
      const Range r = Piece(rows, tile_pieces, piece);
      for (int64_t i = r.begin * kPack<E>; i < Min(tiles, r.end * kPack<E>); i += kPack<E>) {
        StoreAcross(t, first, i, tiles, s.c, v, v_matrix, [&](const Place& p, int64_t c, Vec(&points)[kPoints]) {
          InputPoints<T>(s, a.x, nullptr, p, c, points);
        });
        StoreAcross(t, first, i, tiles, s.oc, m, m_matrix,
                    [&](const Place& p, int64_t c, Vec(&points)[kPoints]) { GradientPoints(a, p, c, points); });
      }
    });
    const int64_t point_pieces = Pieces(pool, kPoints, nanoseconds);
    ForEach(pool, point_pieces, [&](int64_t piece) {
      const Range r = Piece(kPoints, point_pieces, piece);
      for (int64_t i = r.begin; i < r.end; ++i)
        Sum(s, v + i * v_matrix, rows, m + i * m_matrix, first > 0, du + i * du_matrix);
    });
  }
  const int64_t channel_pieces = Pieces(pool, s.c, 0.3 * static_cast<double>(kPoints * s.c * s.oc));
  ForEach(pool, channel_pieces, [&](int64_t i) {
    const Range part = Piece(s.c, channel_pieces, i, kLanes);
    if (a.wide_dw != nullptr)
      UnpackWeights(s, du, part, a.wide_dw);
    else
      UnpackWeights(s, du, part, a.dw);
  });
  if (a.db == nullptr) return;
  MaskArgsOf<T> sums;
  sums.rows = s.n * s.OutH() * s.OutW(), sums.columns = s.oc;
  sums.dy = a.dy, sums.y = a.mask, sums.column_sums = a.db;
  MaskGradient(sums, pool);
}

template int64_t WinogradForwardWorkspace(const WinogradForwardArgsOf<float>&, int64_t);
template int64_t WinogradForwardWorkspace(const WinogradForwardArgsOf<Bf16>&, int64_t);
template void WinogradForward(const WinogradForwardArgsOf<float>&, float*, const Parallel&);
template void WinogradForward(const WinogradForwardArgsOf<Bf16>&, float*, const Parallel&);
template int64_t WinogradWeightsWorkspace(const WinogradWeightsArgsOf<float>&, int64_t);
template int64_t WinogradWeightsWorkspace(const WinogradWeightsArgsOf<Bf16>&, int64_t);
template void WinogradWeights(const WinogradWeightsArgsOf<float>&, float*, const Parallel&);
template void WinogradWeights(const WinogradWeightsArgsOf<Bf16>&, float*, const Parallel&);

}  // namespace tenon::cpu::TENON_CPU_ISA

#include "plugins/device_cpu/compute/winograd.h"

#include <type_traits>

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/winograd_products.h"
#include "plugins/device_cpu/compute/winograd_transforms.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// A tile is M x M outputs.
template <int M>
constexpr int kEdge = M + 2;  // of its window
template <int M>
constexpr int kPoints = kEdge<M>* kEdge<M>;  // its products
constexpr int64_t kTilesAhead = 24;          // of the one that is read, tiles are fetched: images come from memory

// What is at work at a time.
struct Amounts {
  int64_t floats;           // of transformed tiles, while these are not
  int64_t few, few_summed;  // less than so many: each block of tiles reads all weights, or adds to all sums
  int64_t grain;            // tiles in a block are a multiple
  int64_t c, oc;            // channels of a part of the weights' sums
};
// Processors with a tile unit have a larger second-level cache, and whole tiles need no copy.
TENON_INLINE Amounts AmountsOf(const TileMultiplier* unit) {
  if (unit != nullptr) return {256 * 1024, 96, 160, 32, 32, 256};
  return {128 * 1024, 6 * kRows, 12 * kRows, 2, 48, 128};
}

// Matrices [point][row][leading] of transformed tiles or weights, numbers of the format that is multiplied. Rows are a vector apart from a power of two, so that
// neighbouring ones do not meet in few sets of the cache.
TENON_INLINE int64_t Leading(int64_t channels) { return channels + 16; }

// From one of the matrices to the next, in elements of four bytes: an odd number of cache lines, since all are written at once.
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
  int64_t edge;                  // M
  int64_t rows, columns, count;  // of one image; of all
  int64_t block;                 // tiles at work at a time, a multiple of kPack
};
// `floats`: what one tile takes in one matrix of inputs and one of outputs.
template <int M>
TENON_INLINE Tiles TilesOf(const WinogradShape& s, const Amounts& amounts, int64_t floats, int64_t fewest) {
  Tiles t;
  t.edge = M, t.rows = CeilDiv(s.OutH(), M), t.columns = CeilDiv(s.OutW(), M), t.count = s.n * t.rows * t.columns;
  const int64_t most = Max(fewest, amounts.floats / (kPoints<M> * floats) / kRows * kRows);
  t.block = RoundUp(CeilDiv(t.count, CeilDiv(Max(1, t.count), most)), amounts.grain);
  return t;
}
template <int M, class T>
TENON_INLINE Tiles TilesOf(const WinogradForwardArgsOf<T>& a) {
  const Amounts amounts = AmountsOf(a.unit);
  return TilesOf<M>(a.shape, amounts, Leading(a.shape.c) / kPack<Element<T>> + Leading(a.shape.oc), amounts.few);
}
template <int M, class T>
TENON_INLINE Tiles TilesOf(const WinogradWeightsArgsOf<T>& a) {
  const Amounts amounts = AmountsOf(a.unit);
  return TilesOf<M>(a.shape, amounts, (Leading(a.shape.c) + Leading(a.shape.oc)) / kPack<Element<T>>,
                    amounts.few_summed);
}

// The place of a tile: its image, and its row and column there.
struct Place {
  int64_t n, row, column;
};
TENON_INLINE Place PlaceOf(const Tiles& t, int64_t i) {
  const int64_t in_image = i % (t.rows * t.columns);
  return {i / (t.rows * t.columns), in_image / t.columns, in_image % t.columns};
}
TENON_INLINE Place Next(const Tiles& t, Place p) {
  if (++p.column < t.columns) return p;
  p.column = 0;
  if (++p.row < t.rows) return p;
  return {p.n + 1, 0, 0};
}

// kSide x kSide neighbouring pixels of an image.
template <int kSide>
struct Window {
  int64_t first;                     // where the channels of the first one begin, which may lie outside
  int64_t row, column;               // from a pixel to the one below it, and to the one at its right
  int64_t top, left, bottom, right;  // rows [top, bottom) and columns [left, right) lie in the image
  bool inside;                       // so do all
};
// Of a tile, moved by `up` and `left`, in an image of h x w pixels of c channels.
template <int kSide>
TENON_INLINE Window<kSide> WindowOf(const Tiles& t, Place p, int64_t up, int64_t left, int64_t h, int64_t w,
                                    int64_t c) {
  const int64_t y = p.row * t.edge - up, x = p.column * t.edge - left;
  Window<kSide> window;
  window.first = ((p.n * h + y) * w + x) * c, window.row = w * c, window.column = c;
  window.top = Max(0, -y), window.left = Max(0, -x), window.bottom = Min(kSide, h - y),
  window.right = Min(kSide, w - x);
  window.inside = y >= 0 && x >= 0 && y + kSide <= h && x + kSide <= w;
  return window;
}
// Fetches the M x M pixels of an image of h x w pixels of c channels that belong to one tile alone, if there is such a tile, to the
// second-level cache: those that are read soon, or written.
template <int M, bool kWrite, class T>
TENON_INLINE void Fetch(const WinogradShape& s, Place p, int64_t h, int64_t w, int64_t c, const T* x) {
  if (p.n >= s.n) return;
  const int64_t row = p.row * M, column = p.column * M;
  const int64_t bytes = Min(M, w - column) * c * static_cast<int64_t>(sizeof(T));
  for (int64_t y = row; y < Min(row + M, h); ++y) {
    const char* const from = reinterpret_cast<const char*>(x + ((p.n * h + y) * w + column) * c);
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, kWrite, 2);
  }
}
// What the convolution reads for a tile, and what it writes.
template <int M>
TENON_INLINE Window<kEdge<M>> InputWindow(const WinogradShape& s, const Tiles& t, Place p) {
  return WindowOf<kEdge<M>>(t, p, s.pad_top, s.pad_left, s.h, s.w, s.c);
}
template <int M>
TENON_INLINE Window<M> OutputWindow(const WinogradShape& s, const Tiles& t, Place p) {
  return WindowOf<M>(t, p, 0, 0, s.OutH(), s.OutW(), s.oc);
}

// Keeps the compiler from computing all addresses of a loop before it, for which there are not enough registers.
template <class T>
TENON_INLINE T* Opaque(T* p) {
  asm("" : "+r"(p));
  return p;
}

// Calls f(i, j, where its channel c is) for each pixel of the window that lies in the image x.
template <int kSide, class T, class F>
TENON_INLINE void ForEachPixel(const Window<kSide>& window, T* x, int64_t c, const F& f) {
  if (window.inside) {
    T* row = x + window.first + c;
    TENON_UNROLL for (int i = 0; i < kSide; ++i, row = Opaque(row + window.row))
        TENON_UNROLL for (int j = 0; j < kSide; ++j) f(i, j, row + j * window.column);
    return;
  }
  TENON_UNROLL for (int k = 0; k < kSide * kSide; ++k) {
    const int i = k / kSide, j = k % kSide;
    if (i >= window.top && i < window.bottom && j >= window.left && j < window.right)
      f(i, j, x + (window.first + i * window.row + j * window.column + c));
  }
}

// A vector of channels from c on of each pixel of a window: zero outside, and where mask, if there is one, is not above zero.
template <int kSide, class T>
TENON_INLINE void LoadWindow(const Window<kSide>& window, const T* x, const T* mask, int64_t c,
                             Vec (&d)[kSide][kSide]) {
  if (!window.inside) TENON_UNROLL for (int k = 0; k < kSide * kSide; ++k) d[k / kSide][k % kSide] = Zero();
  ForEachPixel(window, x, c, [&](int i, int j, const T* at) { d[i][j] = Load(at); });
  if (mask == nullptr) return;
  ForEachPixel(window, mask, c,
               [&](int i, int j, const T* at) { d[i][j] = KeepWhere(~(Load(at) <= Zero()), d[i][j]); });
}

// The points of a vector of channels to a row of the matrices.
template <int kSide, class E>
TENON_INLINE void StorePoints(const Vec (&points)[kSide][kSide], E* to, int64_t matrix) {
  TENON_UNROLL for (int i = 0; i < kSide; ++i, to = Opaque(to + kSide * matrix))
      TENON_UNROLL for (int j = 0; j < kSide; ++j) Store(to + j * matrix, points[i][j]);
}
template <int kSide>
TENON_INLINE void LoadPoints(const float* from, int64_t matrix, Vec (&points)[kSide][kSide]) {
  TENON_UNROLL for (int i = 0; i < kSide; ++i, from = Opaque(from + kSide * matrix))
      TENON_UNROLL for (int j = 0; j < kSide; ++j) points[i][j] = Load(from + j * matrix);
}

// V = B^T d B of the window of a tile in x.
template <int M, class T>
TENON_INLINE void InputPoints(const Window<kEdge<M>>& window, const T* x, const T* mask, int64_t c,
                              Vec (&out)[kEdge<M>][kEdge<M>]) {
  Vec d[kEdge<M>][kEdge<M>];
  LoadWindow(window, x, mask, c, d);
  AlongBothAxes(d, out, [](const Vec(&in)[kEdge<M>], Vec(&o)[kEdge<M>]) { Axis<M>::Input(in, o); });
}

// Those of all channels to a row of the matrices, neighbouring channels together.
template <int M, class T, class N>
void InputTile(const Window<kEdge<M>>& window, const T* x, const T* mask, int64_t channels, N* v, int64_t matrix) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vec points[kEdge<M>][kEdge<M>];
    InputPoints<M>(window, x, mask, c, points);
    StorePoints(points, v + c, matrix);
  }
}

// Y = A^T m A: the outputs of a tile in the given channels, from a row of the matrices of these, with bias and activation.
template <int M, class T>
void OutputTile(const WinogradForwardArgsOf<T>& a, const Window<M>& window, Range channels, const float* m,
                int64_t matrix) {
  constexpr int kSide = kEdge<M>;
  for (int64_t c = channels.begin; c < channels.end; c += kLanes, m += kLanes) {
    Vec q[kSide][kSide], y[M][M];
    LoadPoints(m, matrix, q);
    AlongBothAxes(q, y, [](const Vec(&in)[kSide], Vec(&o)[M]) { Axis<M>::Output(in, o); });
    const Vec bias = a.bias == nullptr ? Zero() : Load(a.bias + c);
    ForEachPixel(window, a.y, c, [&](int i, int j, T* at) {
      const Vec value = y[i][j] + bias;
      Store(at, a.relu ? Relu(value) : value);
    });
  }
}

// A dy A^T of the outputs of a tile, the reverse of OutputTile.
template <int M, class T>
TENON_INLINE void GradientPoints(const Window<M>& window, const T* dy, const T* mask, int64_t c,
                                 Vec (&out)[kEdge<M>][kEdge<M>]) {
  Vec g[M][M];
  LoadWindow(window, dy, mask, c, g);
  AlongBothAxes(g, out, [](const Vec(&in)[M], Vec(&o)[kEdge<M>]) { Axis<M>::Gradient(in, o); });
}

// To a row of the matrices at `to` what points(window, channel, vectors) gives for a tile, of pairs also for the next one,
// if there is one.
template <int M, class E, class W, class F>
TENON_INLINE void StoreAcross(const W& window, const W* next, int64_t channels, E* to, int64_t matrix,
                              const F& points) {
  constexpr int kSide = kEdge<M>;
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vec own[kSide][kSide];
    points(window, c, own);
    if constexpr (kPack<E> == 2) {
      Vec other[kSide][kSide];
      points(next != nullptr ? *next : window, c, other);
      TENON_UNROLL for (int k = 0; k < kPoints<M>; ++k) {
        Vec& point = own[k / kSide][k % kSide];
        point = RoundToPairs(point, next != nullptr ? other[k / kSide][k % kSide] : Zero());
      }
    }
    StorePoints(own, to + c, matrix);
  }
}

// ---- weights

// G w G^T of the weights of an input channel and a vector of output channels: w[tap] are vectors over output channels.
template <int M>
TENON_INLINE void TransformWeights(const Vec* w, Vec (&u)[kEdge<M>][kEdge<M>]) {
  const Vec window[3][3] = {{w[0], w[1], w[2]}, {w[3], w[4], w[5]}, {w[6], w[7], w[8]}};
  AlongBothAxes(window, u, [](const Vec(&in)[3], Vec(&o)[kEdge<M>]) { Axis<M>::Weights(in, o); });
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

// The block of output channels that begins at `first` of the weights, as [point][c / kPack][width].
template <int M, class T, class W>
void PackWeights(const WinogradForwardArgsOf<T>& a, const W* weights, int64_t first, Element<T>* u, int64_t matrix) {
  using E = Element<T>;
  constexpr int kSide = kEdge<M>;
  const int64_t channels = a.shape.c, out_channels = a.shape.oc, width = WidthAt(first, out_channels);
  const int64_t lane = a.turned ? 9 : channels * 9, element = a.turned ? out_channels * 9 : 9;
  Vec taps[9 * kLanes];
  for (int64_t c0 = 0; c0 < channels; c0 += kLanes)
    for (int64_t v = 0; v < width; v += kLanes) {
      LoadTaps(a, weights + (first + v) * lane + c0 * element, taps);
      for (int64_t c = 0; c < kLanes; c += kPack<E>) {
        Vec point[kSide][kSide];
        TransformWeights<M>(taps + c * 9, point);
        if constexpr (kPack<E> == 2) {
          Vec next[kSide][kSide];
          TransformWeights<M>(taps + (c + 1) * 9, next);
          TENON_UNROLL for (int i = 0; i < kPoints<M>; ++i) {
            Vec& first_of_pair = point[i / kSide][i % kSide];
            first_of_pair = RoundToPairs(first_of_pair, next[i / kSide][i % kSide]);
          }
        }
        StorePoints(point, u + (c0 + c) / kPack<E> * width + v, matrix);
      }
    }
}
template <int M, class T>
void PackWeights(const WinogradForwardArgsOf<T>& a, int64_t first, Element<T>* u, int64_t matrix) {
  if (a.wide_weights != nullptr)
    PackWeights<M>(a, a.wide_weights, first, u, matrix);
  else
    PackWeights<M>(a, a.weights, first, u, matrix);
}

// G^T du G for one channel and a vector of output channels: the gradients of nine weights from the sums of the matrices.
template <int M>
TENON_INLINE void TransformSums(const float* from, int64_t matrix, Vec* w) {
  constexpr int kSide = kEdge<M>;
  Vec q[kSide][kSide], window[3][3];
  LoadPoints(from, matrix, q);
  AlongBothAxes(q, window, [](const Vec(&in)[kSide], Vec(&o)[3]) { Axis<M>::Sums(in, o); });
  TENON_UNROLL for (int i = 0; i < 9; ++i) w[i] = window[i / 3][i % 3];
}

// Weights of input channels [c) and output channels [oc). Their sums are [point][c][Leading].
struct Part {
  Range c, oc;
  TENON_INLINE int64_t Row() const { return Leading(oc.end - oc.begin); }
  TENON_INLINE int64_t Matrix() const { return Apart((c.end - c.begin) * Row()); }
};

// Their gradient from their sums.
template <int M, class T>
void UnpackWeights(const WinogradShape& s, const float* du, const Part& part, T* dw) {
  const int64_t leading = part.Row(), matrix = part.Matrix();
  Vec taps[9 * kLanes], t[kLanes];
  for (int64_t c0 = part.c.begin; c0 < part.c.end; c0 += kLanes)
    for (int64_t oc = part.oc.begin; oc < part.oc.end; oc += kLanes) {
      const float* const from = du + (c0 - part.c.begin) * leading + oc - part.oc.begin;
      for (int c = 0; c < kLanes; ++c) TransformSums<M>(from + c * leading, matrix, taps + c * 9);
      for (int k = 0; k < 9 * kLanes; k += kLanes) {
        TENON_UNROLL for (int i = 0; i < kLanes; ++i) t[i] = taps[k + i];
        Transpose(t);
        TENON_UNROLL for (int l = 0; l < kLanes; ++l) Store(dw + ((oc + l) * s.c + c0) * 9 + k, t[l]);
      }
    }
}

// ---- the gradient of weights, in parts

// The parts in which the weights are summed: the sums of one stay in the second-level cache.
struct Parts {
  int64_t c, oc;
  TENON_INLINE int64_t Count() const { return c * oc; }
  TENON_INLINE Part At(const WinogradShape& s, int64_t i) const {
    return {Piece(s.c, c, i % c, kGrain), Piece(s.oc, oc, i / c, kGrain)};
  }
  // From one matrix of sums to the next in the largest part.
  TENON_INLINE int64_t Matrix(const WinogradShape& s) const {
    return Part{{0, CeilDiv(s.c, kGrain * c) * kGrain}, {0, CeilDiv(s.oc, kGrain * oc) * kGrain}}.Matrix();
  }
  static constexpr int64_t kGrain = 16;
};
template <class T>
TENON_INLINE Parts PartsOf(const WinogradWeightsArgsOf<T>& a) {
  const Amounts amounts = AmountsOf(a.unit);
  return {CeilDiv(a.shape.c, amounts.c), CeilDiv(a.shape.oc, amounts.oc)};
}

template <int M>
TENON_INLINE double Nanoseconds(const WinogradShape& s, const Tiles& t) {
  return static_cast<double>(t.count * kPoints<M>) * static_cast<double>(s.c * s.oc) / (2.5 * kLanes);
}

// From one matrix of so many transformed tiles to the next: of inputs, and of gradients of outputs.
template <class E>
TENON_INLINE int64_t InputMatrix(const WinogradShape& s, int64_t tiles) {
  return Apart(RoundUp(tiles, kPack<E>) / kPack<E> * Leading(s.c));
}
template <class E>
TENON_INLINE int64_t OutputMatrix(const WinogradShape& s, int64_t tiles) {
  return Apart(RoundUp(tiles, kPack<E>) / kPack<E> * Leading(s.oc));
}

// ---- the two orders of a convolution

// The inputs of some tiles to as many rows from v on.
template <int M, class T>
void InputTiles(const WinogradForwardArgsOf<T>& a, const Tiles& t, Range tiles, Element<T>* v, int64_t matrix) {
  constexpr int64_t kPacked = kPack<Element<T>>;
  const WinogradShape& s = a.shape;
  auto* row = reinterpret_cast<Number<Element<T>>*>(v);
  Place p = PlaceOf(t, tiles.begin), ahead = PlaceOf(t, tiles.begin + kTilesAhead);
  for (int64_t i = tiles.begin; i < tiles.end; ++i, p = Next(t, p), ahead = Next(t, ahead), row += Leading(s.c)) {
    Fetch<M, false>(s, ahead, s.h, s.w, s.c, a.x);
    Fetch<M, true>(s, p, s.OutH(), s.OutW(), s.oc, a.y);
    InputTile<M>(InputWindow<M>(s, t, p), a.x, a.mask, s.c, row, matrix * kPacked);
  }
}
template <int M, class T>
void OutputTiles(const WinogradForwardArgsOf<T>& a, const Tiles& t, Range tiles, Range channels, const float* m,
                 int64_t m_row, int64_t matrix) {
  Place p = PlaceOf(t, tiles.begin);
  for (int64_t i = tiles.begin; i < tiles.end; ++i, p = Next(t, p), m += m_row)
    OutputTile<M>(a, OutputWindow<M>(a.shape, t, p), channels, m, matrix);
}

// All weights are transformed once, and meet the tiles block by block.
template <int M, class T>
struct ByTiles {
  using E = Element<T>;
  const WinogradForwardArgsOf<T>& a;
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf<M>(a);
  const int64_t u_matrix = Apart(s.c * s.oc / kPack<E>);
  const int64_t v_matrix = InputMatrix<E>(s, t.block), m_matrix = OutputMatrix<float>(s, t.block);

  int64_t Floats(int64_t threads) const { return kPoints<M> * (u_matrix + threads * (v_matrix + m_matrix)); }

  void Run(float* workspace, const Parallel& pool) const {
    E* const u = reinterpret_cast<E*>(workspace);
    const int64_t u_blocks = CeilDiv(s.oc, 2 * kLanes);
    const int64_t u_pieces = Pieces(pool, u_blocks, 0.3 * static_cast<double>(kPoints<M> * s.c * s.oc));
    ForEach(pool, u_pieces, [&](int64_t piece) {
      const Range r = Piece(u_blocks, u_pieces, piece);
      for (int64_t first = r.begin * 2 * kLanes; first < Min(s.oc, r.end * 2 * kLanes); first += 2 * kLanes)
        PackWeights<M>(a, first, u + first * s.c / kPack<E>, u_matrix);
    });
    const int64_t blocks = CeilDiv(t.count, t.block), pieces = Pieces(pool, blocks, Nanoseconds<M>(s, t));
    ForEach(pool, pieces, [&](int64_t piece) {
      float* const space = workspace + kPoints<M> * (u_matrix + piece * (v_matrix + m_matrix));
      E* const v = reinterpret_cast<E*>(space);
      float* const m = space + kPoints<M> * v_matrix;
      const Range r = Piece(blocks, pieces, piece);
      const TileScope scope(a.unit);
      for (int64_t b = r.begin; b < r.end; ++b) {
        const Range tiles{b * t.block, Min(t.count, (b + 1) * t.block)};
        InputTiles<M>(a, t, tiles, v, v_matrix);
        for (int64_t i = 0; i < kPoints<M>; ++i)
          for (int64_t first = 0; first < s.oc; first += 2 * kLanes)
            Product(a.unit, tiles.end - tiles.begin, WidthAt(first, s.oc), s.c / kPack<E>, v + i * v_matrix,
                    Leading(s.c) / kPack<E>, u + i * u_matrix + first * s.c / kPack<E>, m + i * m_matrix + first,
                    Leading(s.oc));
        OutputTiles<M>(a, t, tiles, {0, s.oc}, m, Leading(s.oc), m_matrix);
      }
    });
  }
};

// All tiles are transformed once, and meet the weights block by block.
template <int M, class T>
struct ByChannels {
  using E = Element<T>;
  static constexpr int64_t kRow = 2 * kLanes;
  const WinogradForwardArgsOf<T>& a;
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf<M>(a);
  const int64_t v_matrix = InputMatrix<E>(s, t.count);
  const int64_t u_matrix = Apart(s.c * kRow / kPack<E>), m_matrix = Apart(t.count * kRow);

  int64_t Floats(int64_t threads) const { return kPoints<M> * (v_matrix + threads * (u_matrix + m_matrix)); }

  void Run(float* workspace, const Parallel& pool) const {
    E* const v = reinterpret_cast<E*>(workspace);
    const double nanoseconds = Nanoseconds<M>(s, t);
    const int64_t v_pieces = Pieces(pool, t.count, 0.1 * nanoseconds);
    ForEach(pool, v_pieces, [&](int64_t piece) {
      const Range tiles = Piece(t.count, v_pieces, piece);
      InputTiles<M>(a, t, tiles, v + tiles.begin * Leading(s.c) / kPack<E>, v_matrix);
    });
    const int64_t blocks = CeilDiv(s.oc, kRow), pieces = Pieces(pool, blocks, nanoseconds);
    ForEach(pool, pieces, [&](int64_t piece) {
      float* const space = workspace + kPoints<M> * (v_matrix + piece * (u_matrix + m_matrix));
      E* const u = reinterpret_cast<E*>(space);
      float* const m = space + kPoints<M> * u_matrix;
      const Range r = Piece(blocks, pieces, piece);
      const TileScope scope(a.unit);
      for (int64_t first = r.begin * kRow; first < Min(s.oc, r.end * kRow); first += kRow) {
        const int64_t width = WidthAt(first, s.oc);
        PackWeights<M>(a, first, u, u_matrix);
        for (int64_t i = 0; i < kPoints<M>; ++i)
          Product(a.unit, t.count, width, s.c / kPack<E>, v + i * v_matrix, Leading(s.c) / kPack<E>, u + i * u_matrix,
                  m + i * m_matrix, kRow);
        OutputTiles<M>(a, t, {0, t.count}, {first, first + width}, m, kRow, m_matrix);
      }
    });
  }
};

// What is smaller is transformed once.
template <int M, class T, class F>
TENON_INLINE auto WithOrder(const WinogradForwardArgsOf<T>& a, const F& f) {
  if (TilesOf<M>(a).count < a.shape.oc) return f(ByChannels<M, T>{a});
  return f(ByTiles<M, T>{a});
}

template <int M, class T>
int64_t ForwardBytes(const WinogradForwardArgsOf<T>& a, int64_t threads) {
  return WithOrder<M>(a, [&](const auto& order) { return order.Floats(Max(1, threads)); }) *
         static_cast<int64_t>(sizeof(float));
}

template <int M, class T>
void Forward(const WinogradForwardArgsOf<T>& a, float* workspace, const Parallel& pool) {
  WithOrder<M>(a, [&](const auto& order) { order.Run(workspace, pool); });
}

// ---- the gradient of weights

template <int M, class T>
int64_t WeightsBytes(const WinogradWeightsArgsOf<T>& a, int64_t threads) {
  using E = Element<T>;
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf<M>(a);
  const Parts parts = PartsOf(a);
  const int64_t sums = (t.block >= t.count ? Min(parts.Count(), Max(1, threads)) : parts.Count()) * parts.Matrix(s);
  const int64_t floats = sums + InputMatrix<E>(s, t.block) + OutputMatrix<E>(s, t.block);
  return kPoints<M> * floats * static_cast<int64_t>(sizeof(float));
}

template <int M, class T>
void Weights(const WinogradWeightsArgsOf<T>& a, float* workspace, const Parallel& pool) {
  using E = Element<T>;
  const WinogradShape& s = a.shape;
  const Tiles t = TilesOf<M>(a);
  const int64_t v_matrix = InputMatrix<E>(s, t.block), m_matrix = OutputMatrix<E>(s, t.block);
  E* const v = reinterpret_cast<E*>(workspace);
  E* const m = v + kPoints<M> * v_matrix;
  const Parts parts = PartsOf(a);
  const int64_t part_floats = kPoints<M> * parts.Matrix(s);
  float* const part_sums = reinterpret_cast<float*>(m + kPoints<M> * m_matrix);
  const double nanoseconds = Nanoseconds<M>(s, t) * static_cast<double>(t.block) / static_cast<double>(t.count);
  for (int64_t first = 0; first < t.count; first += t.block) {
    const int64_t tiles = Min(t.block, t.count - first), rows = CeilDiv(tiles, kPack<E>);
    const int64_t tile_pieces = Pieces(pool, rows, 0.1 * nanoseconds);
    ForEach(pool, tile_pieces, [&](int64_t piece) {
      const Range r = Piece(rows, tile_pieces, piece);
      Place p = PlaceOf(t, first + r.begin * kPack<E>), ahead = PlaceOf(t, first + r.begin * kPack<E> + kTilesAhead);
      for (int64_t row = r.begin; row < r.end; ++row) {
        for (int64_t i = 0; i < kPack<E>; ++i, ahead = Next(t, ahead)) {
          Fetch<M, false>(s, ahead, s.h, s.w, s.c, a.x);
          Fetch<M, false>(s, ahead, s.OutH(), s.OutW(), s.oc, a.dy);
        }
        const Place next = Next(t, p);
        const bool paired = kPack<E> == 2 && row * kPack<E> + 1 < tiles;
        const auto inputs = InputWindow<M>(s, t, p), next_inputs = InputWindow<M>(s, t, paired ? next : p);
        StoreAcross<M>(inputs, paired ? &next_inputs : nullptr, s.c, v + row * Leading(s.c), v_matrix,
                       [&](const auto& window, int64_t c, Vec(&points)[kEdge<M>][kEdge<M>]) {
                         InputPoints<M, T>(window, a.x, nullptr, c, points);
                       });
        const auto outputs = OutputWindow<M>(s, t, p), next_outputs = OutputWindow<M>(s, t, paired ? next : p);
        StoreAcross<M>(outputs, paired ? &next_outputs : nullptr, s.oc, m + row * Leading(s.oc), m_matrix,
                       [&](const auto& window, int64_t c, Vec(&points)[kEdge<M>][kEdge<M>]) {
                         GradientPoints<M>(window, a.dy, a.mask, c, points);
                       });
        p = kPack<E> == 2 ? Next(t, next) : next;
      }
    });
    const bool only = t.block >= t.count, last = first + t.block >= t.count;
    const int64_t part_pieces = Pieces(pool, parts.Count(), nanoseconds);
    ForEach(pool, part_pieces, [&](int64_t piece) {
      const Range r = Piece(parts.Count(), part_pieces, piece);
      const TileScope scope(a.unit);
      for (int64_t k = r.begin; k < r.end; ++k) {
        const Part part = parts.At(s, k);
        float* const du = part_sums + (only ? piece : k) * part_floats;
        for (int64_t i = 0; i < kPoints<M>; ++i)
          Sum(a.unit, part.c.end - part.c.begin, part.oc.end - part.oc.begin, rows, v + i * v_matrix + part.c.begin,
              Leading(s.c), m + i * m_matrix + part.oc.begin, Leading(s.oc), first > 0, du + i * part.Matrix(),
              part.Row());
        if (!last) continue;
        if (a.wide_dw != nullptr)
          UnpackWeights<M>(s, du, part, a.wide_dw);
        else
          UnpackWeights<M>(s, du, part, a.dw);
      }
    });
  }
  if (a.db == nullptr) return;
  MaskArgsOf<T> sums;
  sums.rows = s.n * s.OutH() * s.OutW(), sums.columns = s.oc;
  sums.dy = a.dy, sums.y = a.mask, sums.column_sums = a.db;
  MaskGradient(sums, pool);
}

// Calls f with the edge of the tiles as a constant: 4 in float32 alone, where its larger factors do no harm.
template <class T, class F>
TENON_INLINE auto WithEdge(int edge, const F& f) {
  if constexpr (std::is_same_v<T, float>)
    if (edge == 4) return f(std::integral_constant<int, 4>{});
  return f(std::integral_constant<int, 2>{});
}

}  // namespace

template <class T>
int64_t WinogradForwardWorkspace(const WinogradForwardArgsOf<T>& a, int64_t threads) {
  return WithEdge<T>(a.edge, [&](auto edge) { return ForwardBytes<edge()>(a, threads); });
}

template <class T>
void WinogradForward(const WinogradForwardArgsOf<T>& a, float* workspace, const Parallel& pool) {
  WithEdge<T>(a.edge, [&](auto edge) { Forward<edge()>(a, workspace, pool); });
}

template <class T>
int64_t WinogradWeightsWorkspace(const WinogradWeightsArgsOf<T>& a, int64_t threads) {
  return WithEdge<T>(a.edge, [&](auto edge) { return WeightsBytes<edge()>(a, threads); });
}

template <class T>
void WinogradWeights(const WinogradWeightsArgsOf<T>& a, float* workspace, const Parallel& pool) {
  WithEdge<T>(a.edge, [&](auto edge) { Weights<edge()>(a, workspace, pool); });
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

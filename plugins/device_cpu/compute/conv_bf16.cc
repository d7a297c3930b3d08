#include "plugins/device_cpu/compute/conv_bf16.h"

#include "plugins/device_cpu/compute/bf16_tile.h"
#include "plugins/device_cpu/compute/conv_windows.h"
#include "plugins/device_cpu/compute/isa_functions.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBlockNumbers = 192 * 1024;   // of the image that meet one panel of weights after the other, of
constexpr int64_t kMostRows = 40 * kTileRows;   // pixels, with
constexpr int64_t kMostPointers = 4096;         // taps
constexpr int64_t kSumPairs = 512;              // of pixels at most whose products are summed up in registers
constexpr int64_t kSumBlockPairs = 128 * 1024;  // of the packed gradient
constexpr int64_t kPairsAhead = 32;             // whose pixels are fetched
constexpr double kProducts = 200;               // in a nanosecond

TENON_INLINE int64_t Bytes(int64_t pairs) { return pairs * static_cast<int64_t>(sizeof(Pair)); }
TENON_INLINE int64_t Even(int64_t count) { return RoundUp(count, 2); }
TENON_INLINE int64_t TapsOf(const ConvPoolShape& s) { return s.kh * s.kw; }
TENON_INLINE int64_t WeightsOf(const ConvPoolShape& s) { return s.oc * s.c * TapsOf(s); }
// Of columns in whole panels, as pairs of each k.
TENON_INLINE int64_t PanelColumns(int64_t columns) { return RoundUp(columns, kLanes); }

TENON_INLINE void StoreNumbers(uint16_t* p, Vec v, int64_t count) { NarrowVec(p, v, count); }
TENON_INLINE void StoreNumbers(float* p, Vec v, int64_t count) { StorePartial(p, v, count); }
TENON_INLINE Vec LoadNumbers(const uint16_t* p, int64_t count) { return WidenVec(p, count); }
TENON_INLINE Vec LoadNumbers(const float* p, int64_t count) { return LoadPartial(p, count); }

// to [columns][rows] from [rows][columns]. What follows `from` is fetched ahead: weights are seldom in a cache.
template <class From, class To>
void TransposeNumbers(const From* from, int64_t rows, int64_t columns, To* to) {
  if (rows == 1 || columns == 1) {
    for (int64_t i = 0; i < rows * columns; i += kLanes) {
      const int64_t count = Min(kLanes, rows * columns - i);
      StoreNumbers(to + i, LoadNumbers(from + i, count), count);
    }
    return;
  }
  constexpr int64_t kAhead = 2048, kLine = 64 / sizeof(From);
  for (int64_t r = 0; r < rows; r += kLanes) {
    for (int64_t i = 0; i < kLanes * columns; i += kLine) __builtin_prefetch(from + r * columns + kAhead + i);
    for (int64_t c = 0; c < columns; c += kLanes) {
      const int64_t height = Min(kLanes, rows - r), width = Min(kLanes, columns - c);
      Vec t[kLanes];
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) t[i] =
          i < height ? LoadNumbers(from + (r + i) * columns + c, width) : Zero();
      Transpose(t);
      TENON_UNROLL for (int i = 0; i < kLanes; ++i) if (i < width) StoreNumbers(to + (c + i) * rows + r, t[i], height);
    }
  }
}

// Weights of `count` output channels from `first` on as [channel][tap][c]: in place where that is what they are.
template <class T>
TENON_INLINE const uint16_t* TapsFirst(const ConvPoolShape& s, const T* weights, int64_t first, int64_t count,
                                       uint16_t* space) {
  const int64_t taps = TapsOf(s), each = s.c * taps;
  weights += first * each;
  if constexpr (sizeof(T) == 2) {
    if (taps == 1) return weights;
  }
  for (int64_t i = 0; i < count; ++i) TransposeNumbers(weights + i * each, s.c, taps, space + i * each);
  return space;
}

// f(weights, first, count, piece) for parts of kTileColumns output channels, their weights as [channel][tap][c]. `space`: room for a
// part for each thread.
TENON_INLINE int64_t PartSpace(const ConvPoolShape& s) {
  return RoundUp(kTileColumns * s.c * TapsOf(s), 2 * kLanes) / 2;
}
template <class T, class F>
void ForEachPart(const ConvPoolShape& s, const T* weights, Pair* space, const Parallel& pool, const F& f) {
  const int64_t parts = CeilDiv(s.oc, kTileColumns);
  const int64_t pieces = Pieces(pool, parts, 0.1 * static_cast<double>(WeightsOf(s)));
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range r = Piece(parts, pieces, piece);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const int64_t first = i * kTileColumns, count = Min(kTileColumns, s.oc - first);
      f(TapsFirst(s, weights, first, count, reinterpret_cast<uint16_t*>(space + piece * PartSpace(s))), first, count);
    }
  });
}

// How the rows of a product are read, block of pixels by block.
struct RowPlan {
  int64_t taps, pairs;   // of a row; of a tap
  int64_t block, space;  // pixels at a time; their pointers, in elements of Pair
};
constexpr int64_t kPointer = sizeof(void*) / sizeof(Pair);
TENON_INLINE RowPlan RowPlanOf(const Windows& w) {
  RowPlan p{};
  p.taps = w.h.count * w.w.count, p.pairs = w.c / 2;
  const int64_t numbers = CeilDiv(w.c * w.h.size * w.w.size, Max(1, w.h.pixels * w.w.pixels));
  const int64_t most = Min(kBlockNumbers / numbers, kMostPointers / Max(1, p.taps));
  p.block = Max(kTileRows, Min(kMostRows, most / kTileRows * kTileRows));
  p.space = RoundUp((p.taps + 1) * p.block * kPointer, kLanes);
  return p;
}

// Row r of tap t of a block is at from[t * apart + r], row r of the result at to[r].
struct BlockRows {
  const uint16_t** from;
  uint16_t** to;
  int64_t apart, taps, pairs;
};

// R rows from `row` on by V vectors of the panel `b` of weights. `g` has bias and relu. The image is touched by lines far apart, which
// processors do not foresee: meanwhile the lines of as many rows from `next` on are fetched, unless it is 0.
template <int R, int V>
void WindowTile(const BlockRows& rows, int64_t row, int64_t next, const Pair* b, const GemmBf16Args& g, int64_t column,
                int64_t columns) {
  constexpr int64_t kLinePairs = 16;
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t t = 0; t < rows.taps; ++t) {
    const uint16_t* a[R];
    TENON_UNROLL for (int i = 0; i < R; ++i) a[i] = rows.from[t * rows.apart + row + i];
    for (int64_t p = 0; p < rows.pairs;) {
      if (next > 0) {
        TENON_UNROLL for (int i = 0; i < R; ++i) __builtin_prefetch(rows.from[t * rows.apart + next + i] + 2 * p);
      }
      for (const int64_t line = Min(rows.pairs, p + kLinePairs); p < line; ++p, b += V * kLanes) {
        Vec bv[V];
        TENON_UNROLL for (int j = 0; j < V; ++j) bv[j] = Load(reinterpret_cast<const float*>(b + j * kLanes));
        TENON_UNROLL for (int i = 0; i < R; ++i) {
          const Pair pair = LoadPair(a[i] + 2 * p);
          TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = PairProduct(acc[i][j], pair, bv[j]);
        }
      }
    }
  }
  Vec bias[V];
  TENON_UNROLL for (int j = 0; j < V; ++j) bias[j] =
      columns > j * kLanes ? BiasOf(g, column + j * kLanes, Min(kLanes, columns - j * kLanes)) : Zero();
  TENON_UNROLL for (int i = 0; i < R; ++i) {
    uint16_t* const to = rows.to[row + i] + column;
    TENON_UNROLL for (int j = 0; j < V; ++j) {
      const Vec sum = acc[i][j] + bias[j];
      const int64_t count = Min(kLanes, columns - j * kLanes);
      if (count > 0) NarrowVec(to + j * kLanes, g.relu ? Relu(sum) : sum, count);
    }
  }
}

using WindowTileFn = void (*)(const BlockRows&, int64_t, int64_t, const Pair*, const GemmBf16Args&, int64_t, int64_t);
template <int V, int... R>
TENON_INLINE WindowTileFn WindowTileFor(int64_t rows) {
  static constexpr WindowTileFn kTable[] = {&WindowTile<R, V>...};
  return kTable[rows - 1];
}
template <int V>
TENON_INLINE WindowTileFn AnyWindowTile(int64_t rows) {
  return WindowTileFor<V, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
}

TENON_INLINE void MultiplyBlock(const BlockRows& rows, int64_t count, const Pair* weights, const GemmBf16Args& g) {
  const int64_t tiles = CeilDiv(count, kTileRows), pairs = rows.taps * rows.pairs;
  for (int64_t c = 0; c < g.n; c += kTileColumns) {
    const int64_t columns = Min(kTileColumns, g.n - c);
    for (int64_t t = 0; t < tiles; ++t) {
      const Range r = Piece(count, tiles, t);
      const int64_t height = r.end - r.begin;
      const WindowTileFn tile = columns > kLanes ? AnyWindowTile<2>(height) : AnyWindowTile<1>(height);
      tile(rows, r.begin, c == 0 && r.end + height <= count ? r.end : 0, weights + c * pairs, g, c, columns);
    }
  }
}

// Rows [0, g.m), a row for each pixel, times the packed weights, with the bias and Relu of g. place(p, n, h, w) is where the
// result of a pixel goes. `outside` are zeros, `space` is plan.space elements for each thread.
template <class F>
void MultiplyWindows(const Windows& windows, const RowPlan& plan, const GemmBf16Args& g, const Pair* weights,
                     const uint16_t* outside, Pair* space, const Parallel& pool, const F& place) {
  const double products = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  const int64_t pieces = Pieces(pool, CeilDiv(g.m, kTileRows), products / kProducts);
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range pixels = Piece(g.m, pieces, piece, kTileRows);
    BlockRows rows{reinterpret_cast<const uint16_t**>(space + piece * plan.space), nullptr, plan.block, plan.taps,
                   plan.pairs};
    rows.to = const_cast<uint16_t**>(rows.from + plan.taps * plan.block);
    for (int64_t first = pixels.begin; first < pixels.end; first += plan.block) {
      const Range block{first, Min(pixels.end, first + plan.block)};
      for (int64_t t = 0; t < plan.taps; ++t)
        FindTap(windows, t / windows.w.count, t % windows.w.count, block, outside, rows.from + t * rows.apart);
      ForEachPixel(windows, block,
                   [&](int64_t p, int64_t n, int64_t h, int64_t w) { rows.to[p - block.begin] = place(p, n, h, w); });
      MultiplyBlock(rows, block.end - block.begin, weights, g);
    }
  });
}

// Zeros in place of a pixel of c numbers.
TENON_INLINE int64_t OutsideSpace(int64_t c) { return RoundUp(c, 2 * kLanes) / 2; }
TENON_INLINE const uint16_t* ClearOutside(int64_t c, Pair* space) {
  for (int64_t i = 0; i < OutsideSpace(c); i += kLanes) Store(reinterpret_cast<float*>(space + i), Zero());
  return reinterpret_cast<const uint16_t*>(space);
}

// ---- forward

TENON_INLINE int64_t PackedForward(const ConvPoolShape& s) { return PanelColumns(s.oc) * CeilDiv(s.c * TapsOf(s), 2); }

}  // namespace

int64_t ConvBf16ForwardWorkspace(const ConvBf16ForwardArgs& a, int64_t threads) {
  const ConvPoolShape& s = a.shape;
  const RowPlan plan = RowPlanOf(ForwardWindows(s, a.x));
  return Bytes(PackedForward(s) + OutsideSpace(s.c) + Max(1, threads) * Max(PartSpace(s), plan.space));
}

void ConvBf16Forward(const ConvBf16ForwardArgs& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  const Windows windows = ForwardWindows(s, a.x);
  Pair* const packed = reinterpret_cast<Pair*>(workspace);
  const uint16_t* const outside = ClearOutside(s.c, packed + PackedForward(s));
  Pair* const space = packed + PackedForward(s) + OutsideSpace(s.c);
  GemmBf16Args g;
  g.m = s.n * s.ConvH() * s.ConvW(), g.n = s.oc, g.k = windows.Length();
  g.b_row = 1, g.b_col = g.k;
  g.bias = a.bias, g.relu = a.relu;
  const auto pack = [&](const auto* weights) {
    ForEachPart(s, weights, space, pool, [&](const uint16_t* part, int64_t first, int64_t count) {
      const int64_t pairs = CeilDiv(g.k, 2);
      PackColumns(g, part, 0, pairs, pairs, 0, count, packed + first * pairs);
    });
  };
  a.wide_weights != nullptr ? pack(a.wide_weights) : pack(a.weights);
  MultiplyWindows(windows, RowPlanOf(windows), g, packed, outside, space, pool,
                  [&](int64_t p, int64_t, int64_t, int64_t) { return a.y + p * s.oc; });
}

namespace {

// ---- the gradient of the data: a convolution of dy for each phase

TENON_INLINE int64_t PackedPhase(const ConvPoolShape& s, const Windows& windows) {
  return PanelColumns(s.c) * (windows.Length() / 2);
}
template <class F>
TENON_INLINE void ForEachPhase(const ConvPoolShape& s, const uint16_t* dy, const F& f) {
  for (int64_t h = 0; h < Min(s.stride_h, s.h); ++h)
    for (int64_t w = 0; w < Min(s.stride_w, s.w); ++w) f(DataWindows(s, h, w, dy), h, w);
}

// Rows of the weights of output channels [first, first + count), as [channel][tap][c], to the panels of a phase.
TENON_INLINE void PackPhase(const ConvPoolShape& s, const Windows& windows, const uint16_t* part, int64_t first,
                            int64_t count, Pair* to) {
  const int64_t pairs = windows.Length() / 2;
  GemmBf16Args g;
  g.k = count, g.b_row = s.c * TapsOf(s), g.b_col = 1;
  for (int64_t c = 0; c < s.c; c += kTileColumns) {
    const int64_t columns = Min(kTileColumns, s.c - c), width = Min(kTileColumns, PanelColumns(columns));
    for (int64_t i = 0; i < windows.h.count * windows.w.count; ++i) {
      const int64_t h = windows.h.first + i / windows.w.count * windows.h.apart,
                    w = windows.w.first + i % windows.w.count * windows.w.apart;
      PackColumns(g, part + (h * s.kw + w) * s.c, 0, count / 2, count / 2, c, columns,
                  to + c * pairs + (i * s.oc + first) / 2 * width);
    }
  }
}

}  // namespace

int64_t ConvBf16DataWorkspace(const ConvBf16DataArgs& a, int64_t threads) {
  const ConvPoolShape& s = a.shape;
  int64_t packed = 0, space = PartSpace(s);
  ForEachPhase(s, nullptr, [&](const Windows& windows, int64_t, int64_t) {
    packed += PackedPhase(s, windows);
    space = Max(space, RowPlanOf(windows).space);
  });
  return Bytes(packed + OutsideSpace(s.oc) + Max(1, threads) * space);
}

void ConvBf16Data(const ConvBf16DataArgs& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  Pair* const packed = reinterpret_cast<Pair*>(workspace);
  int64_t all = 0;
  ForEachPhase(s, a.dy, [&](const Windows& windows, int64_t, int64_t) { all += PackedPhase(s, windows); });
  const uint16_t* const outside = ClearOutside(s.oc, packed + all);
  Pair* const space = packed + all + OutsideSpace(s.oc);
  const auto pack = [&](const auto* weights) {
    ForEachPart(s, weights, space, pool, [&](const uint16_t* part, int64_t first, int64_t count) {
      Pair* to = packed;
      ForEachPhase(s, a.dy, [&](const Windows& windows, int64_t, int64_t) {
        PackPhase(s, windows, part, first, count, to);
        to += PackedPhase(s, windows);
      });
    });
  };
  a.wide_weights != nullptr ? pack(a.wide_weights) : pack(a.weights);
  const Pair* weights = packed;
  ForEachPhase(s, a.dy, [&](const Windows& windows, int64_t phase_h, int64_t phase_w) {
    GemmBf16Args g;
    g.m = s.n * windows.h.pixels * windows.w.pixels, g.n = s.c, g.k = windows.Length();
    MultiplyWindows(windows, RowPlanOf(windows), g, weights, outside, space, pool,
                    [&](int64_t, int64_t n, int64_t h, int64_t w) {
                      const int64_t row = n * s.h + h * s.stride_h + phase_h;
                      return a.dx + (row * s.w + w * s.stride_w + phase_w) * s.c;
                    });
    weights += PackedPhase(s, windows);
  });
}

namespace {

// ---- the gradient of the weights: dy^T times the rows, summed up over blocks of pixels

struct SumPlan {
  int64_t taps, panels;  // of the window; of columns of a tap
  int64_t length;        // of a row: length = taps * c
  int64_t pixels;        // of a block (even)
  int64_t packed, sums;  // the gradient of a block and the sums, for all
  int64_t rows, space;   // for each thread: pointers; these and a panel
};
TENON_INLINE SumPlan SumPlanOf(const ConvPoolShape& s) {
  SumPlan p{};
  p.taps = TapsOf(s), p.panels = CeilDiv(s.c, kTileColumns), p.length = s.c * p.taps;
  const int64_t all = s.n * s.ConvH() * s.ConvW();
  const int64_t most = 2 * Max(64, Min(kSumPairs, kSumBlockPairs / s.oc));
  p.pixels = Even(CeilDiv(all, CeilDiv(all, most)));
  p.packed = RoundUp(s.oc * p.pixels / 2, kLanes);
  p.sums = RoundUp(s.oc * p.length, kLanes);
  p.rows = RoundUp(p.pixels * kPointer, kLanes);
  p.space = p.rows + kTileColumns * p.pixels / 2;
  return p;
}

// Numbers of two neighbouring pixels as pairs, a panel of at most kTileColumns.
TENON_INLINE void PackPixels(const uint16_t* low, const uint16_t* high, int64_t columns, Pair* to) {
  if (columns == kTileColumns) return PackWholePair(low, high, to);
  for (int64_t v = 0; v < columns; v += kLanes) {
    const int64_t count = Min(kLanes, columns - v);
    StorePairs<1>(PartsOf<1>(low + v, count), PartsOf<1>(high + v, count), to + v, 0);
  }
}

// A tile of sums of R output channels, the first one of its panel, which it packs on the way: numbers [first, first + columns) of
// `pixels`. `a` is the packed gradient.
template <int R, int V>
void PackingTile(const uint16_t* const* pixels, int64_t pairs, int64_t first, int64_t columns, const Pair* a,
                 Pair* panel, const Finish<GemmBf16Args>& finish, int64_t row, int64_t column) {
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t p = 0; p < pairs; ++p, panel += V * kLanes, a += R) {
    const int64_t later = 2 * Min(p + kPairsAhead, pairs - 1);
    __builtin_prefetch(pixels[later] + first);
    __builtin_prefetch(pixels[later + 1] + first);
    PackPixels(pixels[2 * p] + first, pixels[2 * p + 1] + first, columns, panel);
    Vec b[V];
    TENON_UNROLL for (int j = 0; j < V; ++j) b[j] = Load(reinterpret_cast<const float*>(panel + j * kLanes));
    TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] =
        PairProduct(acc[i][j], a[i], b[j]);
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) {
    const int64_t count = Min(columns - j * kLanes, kLanes);
    if (count > 0) FinishVec(finish, acc[i][j], row + i, column + j * kLanes, count);
  }
}

using PackingTileFn = void (*)(const uint16_t* const*, int64_t, int64_t, int64_t, const Pair*, Pair*,
                               const Finish<GemmBf16Args>&, int64_t, int64_t);
template <int V, int... R>
TENON_INLINE PackingTileFn PackingTileFor(int64_t rows) {
  static constexpr PackingTileFn kTable[] = {&PackingTile<R, V>...};
  return kTable[rows - 1];
}
template <int V>
TENON_INLINE PackingTileFn AnyPackingTile(int64_t rows) {
  return PackingTileFor<V, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
}

// dy of the pixels of a block as pairs of neighbours, tile after tile.
TENON_INLINE void PackGradient(const GemmBf16Args& g, Pair* packed, const Parallel& pool) {
  const int64_t pairs = CeilDiv(g.k, 2), tiles = CeilDiv(g.m, kTileRows), steps = CeilDiv(pairs, kPairsAtOnce);
  const int64_t pieces = Pieces(pool, steps, 0.1 * static_cast<double>(g.m * g.k));
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range own = Piece(steps, pieces, piece);
    for (int64_t step = own.begin; step < own.end; ++step)
      for (int64_t t = 0; t < tiles; ++t) {
        const Range r = Piece(g.m, tiles, t);
        const int64_t height = r.end - r.begin, p = step * kPairsAtOnce;
        PackRows(g, p, Min(kPairsAtOnce, pairs - p), r.begin, height, packed + r.begin * pairs + p * height);
      }
  });
}

// A part of the sums: tiles of output channels, and panels of columns, counted tap after tap.
struct SumPart {
  Range tiles, panels;
};

// Adds the products of a block of pixels to a part of the sums.
void AddProducts(const Windows& windows, const Finish<GemmBf16Args>& finish, Range block, const Pair* packed,
                 const uint16_t* outside, const SumPlan& plan, Pair* space, const SumPart& part) {
  const GemmBf16Args& g = *finish.g;
  const int64_t pairs = CeilDiv(g.k, 2), all_tiles = CeilDiv(g.m, kTileRows), c = windows.c;
  const uint16_t** const pixels = reinterpret_cast<const uint16_t**>(space);
  Pair* const panel = space + plan.rows;
  for (int64_t p = part.panels.begin; p < part.panels.end; ++p) {
    const int64_t tap = p / plan.panels, first = p % plan.panels * kTileColumns;
    const int64_t columns = Min(kTileColumns, c - first), at = tap * c + first;
    if (first == 0 || p == part.panels.begin) {
      FindTap(windows, tap / windows.w.count, tap % windows.w.count, block, outside, pixels);
      if (g.k % 2 != 0) pixels[g.k] = outside;
    }
    for (int64_t t = part.tiles.begin; t < part.tiles.end; ++t) {
      const Range r = Piece(g.m, all_tiles, t);
      const int64_t height = r.end - r.begin;
      for (int64_t i = 0; i < height; ++i) {
        __builtin_prefetch(finish.partial + (r.begin + i) * g.n + at, 1);
        __builtin_prefetch(finish.partial + (r.begin + i) * g.n + at + kLanes, 1);
      }
      const Pair* const gradient = packed + r.begin * pairs;
      if (t == part.tiles.begin) {
        const PackingTileFn tile = columns > kLanes ? AnyPackingTile<2>(height) : AnyPackingTile<1>(height);
        tile(pixels, pairs, first, columns, gradient, panel, finish, r.begin, at);
        continue;
      }
      const TileFn<GemmBf16Args> tile =
          columns > kLanes ? AnyTile<GemmBf16Args, 2>(height) : AnyTile<GemmBf16Args, 1>(height);
      tile(pairs, reinterpret_cast<const uint16_t*>(gradient), {2 * height, 0, 2}, panel, finish, r.begin, at, columns);
    }
  }
}

}  // namespace

int64_t ConvBf16WeightsWorkspace(const ConvBf16WeightsArgs& a, int64_t threads) {
  const SumPlan p = SumPlanOf(a.shape);
  return Bytes(p.packed + p.sums + OutsideSpace(a.shape.c) + Max(1, threads) * p.space);
}

void ConvBf16Weights(const ConvBf16WeightsArgs& a, float* workspace, const Parallel& pool) {
  const ConvPoolShape& s = a.shape;
  const Windows windows = ForwardWindows(s, a.x);
  const SumPlan plan = SumPlanOf(s);
  Pair* const packed = reinterpret_cast<Pair*>(workspace);
  float* const sums = workspace + plan.packed;
  const uint16_t* const outside = ClearOutside(s.c, packed + plan.packed + plan.sums);
  Pair* const space = packed + plan.packed + plan.sums + OutsideSpace(s.c);
  const int64_t pixels = s.n * s.ConvH() * s.ConvW(), tiles = CeilDiv(s.oc, kTileRows);
  const int64_t panels = plan.taps * plan.panels;
  const bool cut_panels = panels >= pool.threads || panels >= tiles;
  for (int64_t first = 0; first < pixels; first += plan.pixels) {
    const Range block{first, Min(pixels, first + plan.pixels)};
    GemmBf16Args g;
    g.m = s.oc, g.n = plan.length, g.k = block.end - block.begin;
    g.a = a.dy + block.begin * s.oc, g.a_row = 1, g.a_col = s.oc;
    PackGradient(g, packed, pool);
    const Finish<GemmBf16Args> finish{&g, sums, first == 0, false};
    const double products = static_cast<double>(g.k) * static_cast<double>(g.m) * static_cast<double>(g.n);
    const int64_t pieces = Pieces(pool, cut_panels ? panels : tiles, products / kProducts);
    ForEach(pool, pieces, [&](int64_t piece) {
      const SumPart part{cut_panels ? Range{0, tiles} : Piece(tiles, pieces, piece),
                         cut_panels ? Piece(panels, pieces, piece) : Range{0, panels}};
      AddProducts(windows, finish, block, packed, outside, plan, space + piece * plan.space, part);
    });
  }
  const int64_t pieces = Pieces(pool, s.oc, 0.2 * static_cast<double>(WeightsOf(s)));
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range r = Piece(s.oc, pieces, piece);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const int64_t at = i * plan.length;
      if (a.wide_dw != nullptr)
        TransposeNumbers(sums + at, TapsOf(s), s.c, a.wide_dw + at);
      else
        TransposeNumbers(sums + at, TapsOf(s), s.c, a.dw + at);
    }
  });
  if (a.db == nullptr) return;
  MaskArgsOf<Bf16> bias;
  bias.rows = pixels, bias.columns = s.oc;
  bias.dy = reinterpret_cast<const Bf16*>(a.dy), bias.column_sums = reinterpret_cast<Bf16*>(a.db);
  MaskGradient(bias, pool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

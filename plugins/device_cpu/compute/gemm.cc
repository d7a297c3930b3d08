// Matrix product: a register tile of kTileRows rows (broadcast operand) by two vectors (lane operand) over blocks that
// stay in the caches. Which of A and B is the lane operand, and whether it is packed, follows from the shape alone.
#include "plugins/device_cpu/compute/gemm.h"

#include "plugins/device_cpu/compute/gelu_value.h"
#include "plugins/device_cpu/compute/isa_functions.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileRows = kAccumulators / 2;
constexpr int kTileLanes = 2 * kLanes;
constexpr int64_t kMaxBlockK = 1024;         // longer products are cut into equal blocks
constexpr int64_t kBlockFloats = 80 * 1024;  // packed lane operand that stays in the second-level cache

// The product with rows = broadcast operand and lanes = vector operand. `flipped`: rows are columns of C.
struct Problem {
  int64_t rows, lanes, k;
  const float* a;
  int64_t am, ak;
  const float* b;
  int64_t bk, bn;
  bool flipped, pack_lanes;
};

// What happens to a finished sum on its way to C; `first` and `last` tell the block of k.
struct Finish {
  const GemmArgs* args;
  bool first, last, plain;
};
TENON_INLINE Finish MakeFinish(const GemmArgs& g, bool first, bool last) {
  const bool plain =
      first && g.alpha == 1.0f && !g.accumulate && (!last || (g.bias == nullptr && g.mask == nullptr && !g.relu));
  return {&g, first, last, plain};
}

TENON_INLINE void FinishVec(const Finish& f, Vec v, int64_t row, int64_t col, int64_t count) {
  const GemmArgs& g = *f.args;
  const int64_t at = row * g.c_row + col;
  v = v * Set(g.alpha);
  if (g.accumulate || !f.first) v += LoadPartial(g.c + at, count);
  if (!f.last) return StorePartial(g.c + at, v, count);
  if (g.bias != nullptr) v += LoadPartial(g.bias + col, count);
  if (g.relu) v = Relu(v);
  if (g.mask != nullptr) v = KeepWhere(~(LoadPartial(g.mask + row * g.mask_row + col, count) <= Zero()), v);
  StorePartial(g.c + at, v, count);
}

// Of a finished area of C.
template <bool kTanh>
__attribute__((noinline)) void StoreGelu(const GemmArgs& g, Range rows, int64_t column, int64_t columns) {
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = 0; j < columns; j += kLanes) {
      const int64_t at = i * g.c_row + column + j, count = Min(kLanes, columns - j);
      StorePartial(g.gelu + at, GeluValue<kTanh>(LoadPartial(g.c + at, count)), count);
    }
}
TENON_INLINE void Activate(const Finish& f, Range rows, int64_t column, int64_t columns) {
  if (!f.last || f.args->gelu == nullptr) return;
  (f.args->gelu_tanh ? StoreGelu<true> : StoreGelu<false>)(*f.args, rows, column, columns);
}

// One tile: rows R of the broadcast operand (element (i, k) at a[i * am + k * ak]) by V vectors at b + k * ldb.
template <int R, int V, bool kFlipped>
void Tile(int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t ldb, const Finish& finish,
          int64_t row, int64_t lane, int64_t lanes) {
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t p = 0; p < k; ++p) {
    Vec bv[V];
    TENON_UNROLL for (int j = 0; j < V; ++j) bv[j] = Load(b + j * kLanes);
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const Vec av = Set(a[i * am]);
      TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] += av * bv[j];
    }
    a += ak;
    b += ldb;
  }
  if constexpr (!kFlipped) {
    const GemmArgs& g = *finish.args;
    if (finish.plain && lanes >= V * kLanes) {
      float* c = g.c + row * g.c_row + lane;
      TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j)
          Store(c + i * g.c_row + j * kLanes, acc[i][j]);
      return;
    }
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      TENON_UNROLL for (int j = 0; j < V; ++j) {
        const int64_t count = Min(lanes - j * kLanes, kLanes);
        if (count > 0) FinishVec(finish, acc[i][j], row + i, lane + j * kLanes, count);
      }
    }
  } else {
    TENON_UNROLL for (int j = 0; j < V; ++j) {
      TENON_UNROLL for (int first = 0; first < R; first += kLanes) {
        constexpr int kStep = R < kLanes ? R : kLanes;
        const int64_t here = R - first < kStep ? R - first : kStep;
        Vec t[kLanes];
        TENON_UNROLL for (int i = 0; i < kLanes; ++i) t[i] =
            first + i < R ? acc[first + i < R ? first + i : 0][j] : Zero();
        Transpose(t);
        const int64_t count = Min(lanes - j * kLanes, kLanes);
        for (int64_t l = 0; l < count; ++l) FinishVec(finish, t[l], lane + j * kLanes + l, row + first, here);
      }
    }
  }
}

using TileFn = void (*)(int64_t, const float*, int64_t, int64_t, const float*, int64_t, const Finish&, int64_t, int64_t,
                        int64_t);

template <int V, bool kFlipped, int... R>
TENON_INLINE void CallTile(int64_t rows, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t ldb,
                           const Finish& finish, int64_t row, int64_t lane, int64_t lanes) {
  static constexpr TileFn kTable[] = {&Tile<R, V, kFlipped>...};
  kTable[rows - 1](k, a, am, ak, b, ldb, finish, row, lane, lanes);
}

template <int V, bool kFlipped>
TENON_INLINE void AnyTile(int64_t rows, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t ldb,
                          const Finish& finish, int64_t row, int64_t lane, int64_t lanes) {
#if TENON_CPU_LANES == 16
  CallTile<V, kFlipped, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows, k, a, am, ak, b, ldb, finish, row, lane, lanes);
#else
  CallTile<V, kFlipped, 1, 2, 3, 4, 5, 6>(rows, k, a, am, ak, b, ldb, finish, row, lane, lanes);
#endif
}

// The same for unit stride along the lanes: some rows at a time over all panels, so that reading stays within few pages.
TENON_INLINE void PackContiguousLanes(const Problem& p, int64_t k0, int64_t k, int64_t lane0, int64_t lanes,
                                      float* out) {
  constexpr int64_t kRows = 16;
  for (int64_t i0 = 0; i0 < k; i0 += kRows) {
    const int64_t rows = Min(kRows, k - i0);
    const float* from = p.b + (k0 + i0) * p.bk + lane0;
    for (int64_t l = 0; l < lanes; l += kTileLanes) {
      const int64_t left = lanes - l;
      float* to = out + l * k + i0 * (left > kLanes ? kTileLanes : kLanes);
      if (left >= kTileLanes) {
        for (int64_t i = 0; i < rows; ++i) {
          const Vec low = Load(from + i * p.bk + l), high = Load(from + i * p.bk + l + kLanes);
          Store(to + i * kTileLanes, low);
          Store(to + i * kTileLanes + kLanes, high);
        }
      } else if (left > kLanes) {
        for (int64_t i = 0; i < rows; ++i) {
          Store(to + i * kTileLanes, Load(from + i * p.bk + l));
          Store(to + i * kTileLanes + kLanes, LoadPartial(from + i * p.bk + l + kLanes, left - kLanes));
        }
      } else {
        for (int64_t i = 0; i < rows; ++i) Store(to + i * kLanes, LoadPartial(from + i * p.bk + l, left));
      }
    }
  }
}

// Columns [0, lanes) of the lane operand as panels of kTileLanes (the last one kLanes wide if that is enough), zero
// beyond the last column. Panel p begins at out + p * kTileLanes * k.
TENON_INLINE void PackLanes(const Problem& p, int64_t k0, int64_t k, int64_t lane0, int64_t lanes, float* out) {
  if (p.bn == 1) return PackContiguousLanes(p, k0, k, lane0, lanes, out);
  for (int64_t l = 0; l < lanes; l += kTileLanes) {
    const int64_t width = lanes - l > kLanes ? kTileLanes : kLanes;
    float* panel = out + l * k;
    for (int64_t v = 0; v < width; v += kLanes) {
      const int64_t count = Min(kLanes, lanes - l - v);
      const float* from = p.b + k0 * p.bk + (lane0 + l + v) * p.bn;
      float* to = panel + v;
      int64_t i = 0;
      if (p.bk == 1) {
        for (; i + kLanes <= k; i += kLanes) {
          Vec t[kLanes];
          TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] = j < count ? Load(from + i + j * p.bn) : Zero();
          Transpose(t);
          TENON_UNROLL for (int j = 0; j < kLanes; ++j) Store(to + (i + j) * width, t[j]);
        }
      }
      for (; i < k; ++i)
        for (int64_t j = 0; j < kLanes; ++j) to[i * width + j] = j < count ? from[i * p.bk + j * p.bn] : 0.0f;
    }
  }
}

// Rows [row0, row0 + rows) of the broadcast operand, k-major: element (i, k) at out[k * rows + i].
TENON_INLINE void PackRows(const Problem& p, int64_t k0, int64_t k, int64_t row0, int64_t rows, float* out) {
  const float* from = p.a + row0 * p.am + k0 * p.ak;
  if (p.am == 1 && rows == kTileRows) {
    for (int64_t i = 0; i < k; ++i) __builtin_memcpy(out + i * kTileRows, from + i * p.ak, kTileRows * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < k; ++i)
    for (int64_t r = 0; r < rows; ++r) out[i * rows + r] = from[r * p.am + i * p.ak];
}

// Guess in cycles of a way to do it; only the order of the guesses matters.
TENON_INLINE double Cost(const GemmArgs& g, bool flipped, bool pack) {
  const double rows = static_cast<double>(flipped ? g.n : g.m), lanes = static_cast<double>(flipped ? g.m : g.n);
  const int64_t bn = flipped ? g.a_row : g.b_col, bk = flipped ? g.a_col : g.b_row, ak = flipped ? g.b_row : g.a_col;
  const double k = static_cast<double>(g.k);
  const double vectors = static_cast<double>(CeilDiv(static_cast<int64_t>(lanes), kLanes));
  double compute = rows * vectors * k / 2;
  double cost = 0;
  if (pack) {
    cost += k * lanes * (bn == 1 ? 3.5 : bk == 1 ? 6.0 : 16.0) / kLanes;
  } else {
    compute *= bk % 512 == 0 ? 1.5 : 1.05;
  }
  if (ak != 1) cost += rows * k * 0.7;
  if (flipped) cost += rows * lanes * 0.6;
  return cost + compute;
}

TENON_INLINE Problem Choose(const GemmArgs& g) {
  bool flipped = false, pack = true;
  double best = Cost(g, false, true);
  if (Cost(g, true, true) < best) best = Cost(g, true, true), flipped = true;
  if (g.b_col == 1 && g.n % kLanes == 0 && Cost(g, false, false) < best)
    best = Cost(g, false, false), flipped = false, pack = false;
  if (g.a_row == 1 && g.m % kLanes == 0 && Cost(g, true, false) < best) flipped = true, pack = false;
  if (flipped) return {g.n, g.m, g.k, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, true, pack};
  return {g.m, g.n, g.k, g.a, g.a_row, g.a_col, g.b, g.b_row, g.b_col, false, pack};
}

struct Blocks {
  int64_t k, lanes;         // largest block of k and of the lane operand (a multiple of kTileLanes)
  int64_t pack_lanes_size;  // floats per piece
  int64_t pack_rows_size;   // floats per piece
};
TENON_INLINE Blocks BlocksOf(const Problem& p) {
  Blocks b;
  b.k = p.k <= kMaxBlockK ? Max(p.k, 1) : CeilDiv(p.k, CeilDiv(p.k, kMaxBlockK * 3 / 4));
  b.lanes = Min(RoundUp(p.lanes, kTileLanes), Max(kTileLanes, kBlockFloats / b.k / kTileLanes * kTileLanes));
  b.pack_lanes_size = p.pack_lanes ? RoundUp(b.lanes * b.k + kTileLanes, 16) : 0;
  b.pack_rows_size = p.ak != 1 ? RoundUp(RoundUp(p.rows, kTileRows) * b.k, 16) : 0;
  return b;
}

// Rows [rows.begin, rows.end) by lanes [lanes.begin, lanes.end).
void Region(const GemmArgs& g, const Problem& p, Range rows, Range lanes, float* lane_space, float* row_space) {
  const Blocks block = BlocksOf(p);
  const int64_t row_count = rows.end - rows.begin;
  const int64_t tiles = CeilDiv(row_count, kTileRows);
  for (int64_t k0 = 0; k0 < p.k; k0 += block.k) {
    const int64_t k = Min(block.k, p.k - k0);
    const Finish finish = MakeFinish(g, k0 == 0, k0 + k == p.k);
    if (p.ak != 1) {
      for (int64_t t = 0; t < tiles; ++t) {
        const Range r = Piece(row_count, tiles, t);
        PackRows(p, k0, k, rows.begin + r.begin, r.end - r.begin, row_space + r.begin * k);
      }
    }
    for (int64_t l0 = lanes.begin; l0 < lanes.end; l0 += block.lanes) {
      const int64_t lane_count = Min(block.lanes, lanes.end - l0);
      if (p.pack_lanes) PackLanes(p, k0, k, l0, lane_count, lane_space);
      for (int64_t t = 0; t < tiles; ++t) {
        const Range r = Piece(row_count, tiles, t);
        const int64_t height = r.end - r.begin, row = rows.begin + r.begin;
        const float* a = p.ak != 1 ? row_space + r.begin * k : p.a + row * p.am + k0 * p.ak;
        const int64_t am = p.ak != 1 ? 1 : p.am, ak = p.ak != 1 ? height : p.ak;
        for (int64_t l = 0; l < lane_count; l += kTileLanes) {
          const int64_t left = lane_count - l;
          const bool wide = left > kLanes;
          const float* b = p.pack_lanes ? lane_space + l * k : p.b + k0 * p.bk + (l0 + l);
          const int64_t ldb = p.pack_lanes ? (wide ? kTileLanes : kLanes) : p.bk;
          const int64_t count = Min(left, kTileLanes);
          if (p.flipped) {
            if (wide)
              AnyTile<2, true>(height, k, a, am, ak, b, ldb, finish, row, l0 + l, count);
            else
              AnyTile<1, true>(height, k, a, am, ak, b, ldb, finish, row, l0 + l, count);
            Activate(finish, {l0 + l, l0 + l + count}, row, height);
          } else {
            if (wide)
              AnyTile<2, false>(height, k, a, am, ak, b, ldb, finish, row, l0 + l, count);
            else
              AnyTile<1, false>(height, k, a, am, ak, b, ldb, finish, row, l0 + l, count);
            Activate(finish, {row, row + height}, l0 + l, count);
          }
        }
      }
    }
  }
}

// Few rows, both operands contiguous along k: lanes along k, four columns at a time.
TENON_INLINE bool UseDots(const GemmArgs& g) { return g.a_col == 1 && g.b_row == 1 && g.m <= 3 && g.k >= kLanes; }

void Dots(const GemmArgs& g, Range columns) {
  const Finish finish = MakeFinish(g, true, true);
  for (int64_t i = 0; i < g.m; ++i) {
    const float* a = g.a + i * g.a_row;
    for (int64_t j = columns.begin; j < columns.end;) {
      const int64_t width = columns.end - j >= 4 ? 4 : 1;
      const float* b = g.b + j * g.b_col;
      alignas(64) float sums[kLanes] = {};
      if (width == 4) {
        Vec s[4] = {Zero(), Zero(), Zero(), Zero()};
        int64_t p = 0;
        for (; p + kLanes <= g.k; p += kLanes) {
          const Vec x = Load(a + p);
          TENON_UNROLL for (int q = 0; q < 4; ++q) s[q] += x * Load(b + q * g.b_col + p);
        }
        TENON_UNROLL for (int q = 0; q < 4; ++q) sums[q] = SumLanes(s[q]);
        for (; p < g.k; ++p) TENON_UNROLL for (int q = 0; q < 4; ++q) sums[q] += a[p] * b[q * g.b_col + p];
      } else {
        Vec s = Zero();
        int64_t p = 0;
        for (; p + kLanes <= g.k; p += kLanes) s += Load(a + p) * Load(b + p);
        sums[0] = SumLanes(s);
        for (; p < g.k; ++p) sums[0] += a[p] * b[p];
      }
      FinishVec(finish, Load(sums), i, j, width);
      j += width;
    }
  }
  Activate(finish, {0, g.m}, columns.begin, columns.end - columns.begin);
}

// k = 0: nothing but the finish.
void FinishOnly(const GemmArgs& g) {
  const Finish finish = MakeFinish(g, true, true);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; j += kLanes) FinishVec(finish, Zero(), i, j, Min(kLanes, g.n - j));
  Activate(finish, {0, g.m}, 0, g.n);
}

TENON_INLINE double Nanoseconds(const GemmArgs& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / (4.0 * kLanes);
}

}  // namespace

int64_t GemmWorkspace(const GemmArgs& g, int64_t threads) {
  if (g.m == 0 || g.n == 0 || g.k == 0 || UseDots(g)) return 0;
  const Blocks block = BlocksOf(Choose(g));
  return (block.pack_lanes_size + block.pack_rows_size) * Max(1, threads) * static_cast<int64_t>(sizeof(float));
}

void Gemm(const GemmArgs& g, float* workspace, const Parallel& pool) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return FinishOnly(g);
  if (UseDots(g)) {
    const int64_t pieces = Pieces(pool, CeilDiv(g.n, 4), Nanoseconds(g) * 4);
    ForEach(pool, pieces, [&](int64_t i) { Dots(g, Piece(g.n, pieces, i, 4)); });
    return;
  }
  const Problem p = Choose(g);
  const Blocks block = BlocksOf(p);
  const int64_t panels = CeilDiv(p.lanes, kTileLanes), tiles = CeilDiv(p.rows, kTileRows);
  const bool cut_lanes = panels >= 2 * pool.threads || panels >= tiles;
  const int64_t pieces = Pieces(pool, cut_lanes ? panels : tiles, Nanoseconds(g));
  ForEach(pool, pieces, [&](int64_t i) {
    float* space = workspace + i * (block.pack_lanes_size + block.pack_rows_size);
    const Range all_rows{0, p.rows}, all_lanes{0, p.lanes};
    Region(g, p, cut_lanes ? all_rows : Piece(p.rows, pieces, i, kTileRows),
           cut_lanes ? Piece(p.lanes, pieces, i, kTileLanes) : all_lanes, space, space + block.pack_lanes_size);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA

// A register tile of 12 rows (broadcast operand, two neighbouring k at a time) by two vectors of 16 columns. The row operand
// is read in place when it is bf16 and its k are neighbours, and packed otherwise.
#include "plugins/device_cpu/compute/gemm_bf16.h"

#include "plugins/device_cpu/compute/bf16_finish.h"
#include "plugins/device_cpu/compute/bf16_panels.h"
#include "plugins/device_cpu/compute/product_pieces.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileRows = 12;
constexpr int64_t kMaxBlockPairs = 512;      // longer products are cut into equal blocks
constexpr int64_t kRowPairs = 64 * 1024;     // pairs of the row operand that meet one panel of columns after the other
constexpr int64_t kBlockPairs = 128 * 1024;  // pairs of the packed column operand that stay in the second-level cache

struct Blocks {
  int64_t pairs, columns;  // largest block of pairs and of columns (a multiple of kTileColumns)
  bool pack_rows, cut_k;
  int64_t column_pairs, row_pairs;  // of the packed operands, per piece
};

// Where the pairs of packed rows lie: pair p of part i of row r at p * pair + i * part + r * row.
struct RowSteps {
  int64_t pair, part, row;
};
// Rows that are neighbours in memory are packed pair after pair, others row after row.
template <class Args>
TENON_INLINE RowSteps StepsOf(const Args& g, int64_t pairs, int64_t rows) {
  if (g.a_row == 1 || kParts<Args> == 1) return {rows * kParts<Args>, rows, 1};
  return {1, pairs, pairs * kParts<Args>};
}

// Rows [row0, row0 + rows) of A, of which there are at most kTileRows.
TENON_INLINE void PackRows(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t row0, int64_t rows, Pair* out) {
  const uint16_t* from = g.a + row0 * g.a_row + pair0 * 2 * g.a_col;
  for (int64_t p = 0; p < pairs; ++p) {
    const bool has_next = 2 * (pair0 + p) + 1 < g.k;
    const uint16_t* at = from + 2 * p * g.a_col;
    if (g.a_row == 1) {
      PrefetchPair(at + 2 * kPairsAtOnce * g.a_col, g.a_col);
      StorePairs<1>(PartsOf<1>(at, rows), has_next ? PartsOf<1>(at + g.a_col, rows) : NoParts(), out + p * rows, 0,
                    rows);
      continue;
    }
    for (int64_t i = 0; i < rows; ++i) {
      const uint16_t* x = at + i * g.a_row;
      out[p * rows + i] = x[0] | (has_next ? static_cast<Pair>(x[g.a_col]) << 16 : 0);
    }
  }
}
TENON_INLINE void PackRows(const GemmArgs& g, int64_t pair0, int64_t pairs, int64_t row0, int64_t rows, Pair* out) {
  const RowSteps steps = StepsOf(g, pairs, rows);
  const float* from = g.a + row0 * g.a_row + pair0 * 2 * g.a_col;
  if (g.a_row == 1) {
    for (int64_t p = 0; p < pairs; ++p) {
      const bool has_next = 2 * (pair0 + p) + 1 < g.k;
      const float* at = from + 2 * p * g.a_col;
      StorePairs<2>(PartsOf<2>(at, rows), has_next ? PartsOf<2>(at + g.a_col, rows) : NoParts(), out + p * steps.pair,
                    steps.part, rows);
    }
    return;
  }
  const int64_t elements = Min(2 * pairs, g.k - 2 * pair0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t e = 0; e < elements; e += kLanes) {  // 16 elements are 8 pairs
      const int64_t count = Min(kLanes, elements - e);
      const Bits16 bits = PartsOf<2>(from + i * g.a_row + e, count);
      Pair* to = out + i * steps.row + e / 2;
      const __mmask16 mask = FirstLanes(count + count % 2);
      TENON_UNROLL for (int part = 0; part < 2; ++part)
          _mm256_mask_storeu_epi16(to + part * steps.part, mask, _mm512_cvtepi32_epi16(bits.part[part]));
    }
  }
}

TENON_INLINE Pair LoadPair(const uint16_t* p) {
  Pair pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return pair;
}

// R rows by V vectors; `steps` of the row operand in elements of bf16.
template <class Args, int R, int V>
void Tile(int64_t pairs, const uint16_t* a, const RowSteps& steps, const Pair* b, const Finish<Args>& finish,
          int64_t row, int64_t column, int64_t columns) {
  constexpr int P = kParts<Args>;
  const int64_t am = steps.row, ap = steps.pair, part = steps.part;
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t p = 0; p < pairs; ++p) {
    Vec bv[P][V];
    TENON_UNROLL for (int q = 0; q < P; ++q) TENON_UNROLL for (int j = 0; j < V; ++j) bv[q][j] =
        Load(reinterpret_cast<const float*>(b + (q * V + j) * kLanes));
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      const Pair high = LoadPair(a + i * am);
      TENON_UNROLL for (int q = 0; q < P; ++q) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] =
          PairProduct(acc[i][j], high, bv[q][j]);
      if constexpr (P > 1) {
        const Pair low = LoadPair(a + part + i * am);
        TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = PairProduct(acc[i][j], low, bv[0][j]);
      }
    }
    a += ap;
    b += P * V * kLanes;
  }
  if constexpr (P == 1 && V == 2) {
    if (finish.last && columns == kTileColumns) {
      TENON_UNROLL for (int i = 0; i < R; ++i) FinishTwo(finish, acc[i][0], acc[i][1], row + i, column);
      return;
    }
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) {
    const int64_t count = Min(columns - j * kLanes, kLanes);
    if (count > 0) FinishVec(finish, acc[i][j], row + i, column + j * kLanes, count);
  }
}

template <class Args>
using TileFn = void (*)(int64_t, const uint16_t*, const RowSteps&, const Pair*, const Finish<Args>&, int64_t, int64_t,
                        int64_t);

template <class Args, int V, int... R>
TileFn<Args> TileFor(int64_t rows) {
  static constexpr TileFn<Args> kTable[] = {&Tile<Args, R, V>...};
  return kTable[rows - 1];
}
template <class Args, int V>
TileFn<Args> AnyTile(int64_t rows) {
  return TileFor<Args, V, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
}

struct Vectors {
  static constexpr int64_t kRows = kTileRows;
  static constexpr double kRate = 256;

  template <class Args>
  static Blocks BlocksOf(const Args& g) {
    constexpr int64_t kPairsInCache = kBlockPairs / kParts<Args>;
    Blocks b{};
    const int64_t pairs = CeilDiv(g.k, 2);
    b.cut_k = pairs > kMaxBlockPairs;
    b.pairs = b.cut_k ? CeilDiv(pairs, CeilDiv(pairs, kMaxBlockPairs)) : pairs;
    b.columns =
        Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kPairsInCache / b.pairs / kTileColumns * kTileColumns));
    b.pack_rows = kParts<Args> > 1 || g.a_col != 1 || g.k % 2 != 0;
    b.column_pairs = RoundUp(b.columns * b.pairs * kParts<Args>, kLanes);
    b.row_pairs = b.pack_rows ? RoundUp(RoundUp(g.m, kTileRows) * b.pairs * kParts<Args>, kLanes) + kLanes : 0;
    return b;
  }

  template <class Args>
  static void Region(const Args& g, const Blocks& block, Range rows, Range columns, Pair* column_space, Pair* row_space,
                     float* partial) {
    constexpr int P = kParts<Args>;
    const int64_t all_pairs = CeilDiv(g.k, 2), row_count = rows.end - rows.begin;
    const int64_t tiles = CeilDiv(row_count, kTileRows);
    for (int64_t pair0 = 0; pair0 < all_pairs; pair0 += block.pairs) {
      const int64_t pairs = Min(block.pairs, all_pairs - pair0);
      const Finish<Args> finish{&g, block.cut_k ? partial : nullptr, pair0 == 0, pair0 + pairs == all_pairs};
      if (block.pack_rows) {
        const int64_t step = g.a_row == 1 ? kPairsAtOnce : pairs;
        for (int64_t p = 0; p < pairs; p += step)
          for (int64_t t = 0; t < tiles; ++t) {
            const Range r = Piece(row_count, tiles, t);
            const int64_t height = r.end - r.begin;
            PackRows(g, pair0 + p, Min(step, pairs - p), rows.begin + r.begin, height,
                     row_space + (r.begin * pairs + p * height) * P);
          }
      }
      const int64_t tiles_at_once = Max(1, kRowPairs / (pairs * kTileRows * P));
      for (int64_t c0 = columns.begin; c0 < columns.end; c0 += block.columns) {
        const int64_t column_count = Min(block.columns, columns.end - c0);
        PackColumnsOf(g, pair0, pairs, pairs, c0, column_count, column_space);
        for (int64_t t0 = 0; t0 < tiles; t0 += tiles_at_once) {
          for (int64_t c = 0; c < column_count; c += kTileColumns)
            for (int64_t t = t0; t < Min(tiles, t0 + tiles_at_once); ++t) {
              const Range r = Piece(row_count, tiles, t);
              const int64_t height = r.end - r.begin, row = rows.begin + r.begin, left = column_count - c;
              const uint16_t* a = reinterpret_cast<const uint16_t*>(row_space + r.begin * pairs * P);
              RowSteps steps = StepsOf(g, pairs, height);
              steps = {2 * steps.pair, 2 * steps.part, 2 * steps.row};
              if constexpr (P == 1) {
                if (!block.pack_rows) a = g.a + row * g.a_row + pair0 * 2, steps = {2, 0, g.a_row};
              }
              const TileFn<Args> tile = left > kLanes ? AnyTile<Args, 2>(height) : AnyTile<Args, 1>(height);
              tile(pairs, a, steps, column_space + c * pairs * P, finish, row, c0 + c, Min(left, kTileColumns));
            }
          const Range done{Piece(row_count, tiles, t0).begin,
                           Piece(row_count, tiles, Min(tiles, t0 + tiles_at_once) - 1).end};
          Activate(finish, {rows.begin + done.begin, rows.begin + done.end}, c0, column_count);
        }
      }
    }
  }
};

void MaskGradient(const MaskBf16Args& args, const Parallel& pool) {
  const int64_t panels = CeilDiv(args.columns, kLanes);
  const int64_t pieces = Pieces(pool, panels, static_cast<double>(args.rows * args.columns) * 0.2);
  ForEach(pool, pieces, [&](int64_t piece) {
    const Range columns = Piece(args.columns, pieces, piece, kLanes);
    for (int64_t j = columns.begin; j < columns.end; j += kLanes) {
      const int64_t count = Min(kLanes, columns.end - j);
      Vec sum = Zero();
      for (int64_t i = 0; i < args.rows; ++i) {
        const int64_t at = i * args.columns + j;
        const Vec g = KeepWhere(~(WidenVec(args.y + at, count) <= Zero()), WidenVec(args.dy + at, count));
        sum += g;
        NarrowVec(args.g + at, g, count);
      }
      if (args.column_sums != nullptr) NarrowVec(args.column_sums + j, sum * Set(args.scale), count);
    }
  });
}

}  // namespace

extern const Bf16Routines kBf16Routines;
const Bf16Routines kBf16Routines = {
    .products = kProductsOf<Vectors>,
    .mask_gradient = &MaskGradient,
    .attention_workspace = &AttentionForwardWorkspace<Bf16>,
    .attention = &AttentionForward<Bf16>,
    .attention_grad_workspace = &AttentionGradWorkspace<Bf16>,
    .attention_grad = &AttentionGrad<Bf16>,
    .winograd_forward_workspace = &WinogradForwardWorkspace<Bf16>,
    .winograd_forward = &WinogradForward<Bf16>,
    .winograd_weights_workspace = &WinogradWeightsWorkspace<Bf16>,
    .winograd_weights = &WinogradWeights<Bf16>,
};

}  // namespace tenon::cpu::TENON_CPU_ISA

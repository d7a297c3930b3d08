// A register tile of 12 rows (broadcast operand, two neighbouring k at a time) by two vectors of 16 columns. The column
// operand is packed into panels of pairs [k / 2][column][2]; the row operand is read in place when its k are
// neighbours, and packed otherwise.
#include "plugins/device_cpu/compute/gemm_bf16.h"

#include "plugins/device_cpu/compute/isa_functions.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileRows = 12;
constexpr int kTileColumns = 2 * kLanes;
constexpr int64_t kMaxBlockPairs = 512;      // longer products are cut into equal blocks
constexpr int64_t kBlockPairs = 128 * 1024;  // pairs of the packed column operand that stay in the second-level cache
using Pair = uint32_t;                       // elements k and k + 1

TENON_INLINE Vec WidenVec(const uint16_t* p, int64_t count) {
  const __mmask16 mask = static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
  const __m256i low = _mm256_maskz_loadu_epi16(mask, p);
  return reinterpret_cast<Vec>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16));
}
TENON_INLINE void NarrowVec(uint16_t* p, Vec v, int64_t count) {
  const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  if (count >= kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits);
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << count) - 1), bits);
}
TENON_INLINE Vec Product(Vec sum, Pair a, Vec b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                                                reinterpret_cast<__m512bh>(b)));
}

struct Blocks {
  int64_t pairs, columns;  // largest block of pairs and of columns (a multiple of kTileColumns)
  bool pack_rows, cut_k;
  int64_t column_pairs, row_pairs;  // of the packed operands, per piece
};
TENON_INLINE Blocks BlocksOf(const GemmBf16Args& g) {
  Blocks b{};
  const int64_t pairs = CeilDiv(g.k, 2);
  b.cut_k = pairs > kMaxBlockPairs;
  b.pairs = b.cut_k ? CeilDiv(pairs, CeilDiv(pairs, kMaxBlockPairs)) : pairs;
  b.columns = Min(RoundUp(g.n, kTileColumns), Max(kTileColumns, kBlockPairs / b.pairs / kTileColumns * kTileColumns));
  b.pack_rows = g.a_col != 1 || g.k % 2 != 0;
  b.column_pairs = RoundUp(b.columns * b.pairs, kLanes);
  b.row_pairs = b.pack_rows ? RoundUp(RoundUp(g.m, kTileRows) * b.pairs, kLanes) + kLanes : 0;
  return b;
}

// Pairs of the elements at from[i * step] and from[i * step + next], i in [0, count), the rest of the vector zero.
TENON_INLINE void StorePairs(const uint16_t* from, int64_t next, bool has_next, int64_t count, Pair* to) {
  const __mmask16 mask = static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
  const __m512i high =
      has_next ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + next)) : _mm512_setzero_si512();
  _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

// Columns [column0, column0 + columns) of B, pairs [pair0, pair0 + pairs), as panels of kTileColumns (the last one
// kLanes wide if that is enough). Panel p begins at out + p * kTileColumns * pairs.
void PackColumns(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t column0, int64_t columns, Pair* out) {
  for (int64_t c = 0; c < columns; c += kTileColumns) {
    const int64_t width = columns - c > kLanes ? kTileColumns : kLanes;
    for (int64_t v = 0; v < width; v += kLanes) {
      const int64_t count = Min(kLanes, columns - c - v);
      const uint16_t* from = g.b + pair0 * 2 * g.b_row + (column0 + c + v) * g.b_col;
      Pair* to = out + c * pairs + v;
      int64_t p = 0;
      if (g.b_row == 1) {  // pairs are neighbours: a transpose of 32-bit elements
        const int64_t whole = Min(pairs, g.k / 2 - pair0);
        for (; p + kLanes <= whole; p += kLanes) {
          Vec t[kLanes];
          TENON_UNROLL for (int j = 0; j < kLanes; ++j) t[j] =
              j < count ? reinterpret_cast<Vec>(_mm512_loadu_si512(from + j * g.b_col + 2 * p)) : Zero();
          Transpose(t);
          TENON_UNROLL for (int j = 0; j < kLanes; ++j) Store(reinterpret_cast<float*>(to + (p + j) * width), t[j]);
        }
        for (; p < pairs; ++p) {
          const bool has_next = 2 * (pair0 + p) + 1 < g.k;
          for (int64_t j = 0; j < kLanes; ++j) {
            const uint16_t* at = from + j * g.b_col + 2 * p;
            to[p * width + j] = j < count ? at[0] | (has_next ? static_cast<Pair>(at[1]) << 16 : 0) : 0;
          }
        }
      } else {
        for (; p < pairs; ++p)
          StorePairs(from + 2 * p * g.b_row, g.b_row, 2 * (pair0 + p) + 1 < g.k, count, to + p * width);
      }
    }
  }
}

// Rows [row0, row0 + rows) of A, pair-major: pair p of row i at out[p * rows + i].
void PackRows(const GemmBf16Args& g, int64_t pair0, int64_t pairs, int64_t row0, int64_t rows, Pair* out) {
  const uint16_t* from = g.a + row0 * g.a_row + pair0 * 2 * g.a_col;
  if (g.a_row == 1) {  // a vector a pair; what it writes beyond `rows` is written over by the next one
    for (int64_t p = 0; p < pairs; ++p)
      StorePairs(from + 2 * p * g.a_col, g.a_col, 2 * (pair0 + p) + 1 < g.k, rows, out + p * rows);
    return;
  }
  for (int64_t p = 0; p < pairs; ++p) {
    const bool has_next = 2 * (pair0 + p) + 1 < g.k;
    const uint16_t* at = from + 2 * p * g.a_col;
    for (int64_t i = 0; i < rows; ++i) {
      const uint16_t* x = at + i * g.a_row;
      out[p * rows + i] = x[0] | (has_next ? static_cast<Pair>(x[g.a_col]) << 16 : 0);
    }
  }
}

// What becomes of a tile's sums; `partial` holds those of the blocks of k before (rows of length n).
struct Finish {
  const GemmBf16Args* g;
  float* partial;
  bool first, last;
};

TENON_INLINE void FinishVec(const Finish& f, Vec sum, int64_t row, int64_t column, int64_t count) {
  const GemmBf16Args& g = *f.g;
  if (f.partial != nullptr) {
    float* partial = f.partial + row * g.n + column;
    if (!f.first) sum += LoadPartial(partial, count);
    if (!f.last) return StorePartial(partial, sum, count);
  }
  sum = sum * Set(g.alpha);
  if (g.bias != nullptr) sum += WidenVec(g.bias + column, count);
  if (g.relu) sum = Relu(sum);
  NarrowVec(g.c + row * g.c_row + column, sum, count);
}

// R rows by V vectors; pair p of row i at a + i * am + p * ap, in units of bytes / 2.
template <int R, int V>
void Tile(int64_t pairs, const uint16_t* a, int64_t am, int64_t ap, const Pair* b, const Finish& finish, int64_t row,
          int64_t column, int64_t columns) {
  Vec acc[R][V];
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Zero();
  for (int64_t p = 0; p < pairs; ++p) {
    Vec bv[V];
    TENON_UNROLL for (int j = 0; j < V; ++j) bv[j] = Load(reinterpret_cast<const float*>(b + j * kLanes));
    TENON_UNROLL for (int i = 0; i < R; ++i) {
      Pair pair;
      __builtin_memcpy(&pair, a + i * am, sizeof pair);
      TENON_UNROLL for (int j = 0; j < V; ++j) acc[i][j] = Product(acc[i][j], pair, bv[j]);
    }
    a += ap;
    b += V * kLanes;
  }
  TENON_UNROLL for (int i = 0; i < R; ++i) TENON_UNROLL for (int j = 0; j < V; ++j) {
    const int64_t count = Min(columns - j * kLanes, kLanes);
    if (count > 0) FinishVec(finish, acc[i][j], row + i, column + j * kLanes, count);
  }
}

using TileFn = void (*)(int64_t, const uint16_t*, int64_t, int64_t, const Pair*, const Finish&, int64_t, int64_t,
                        int64_t);

template <int V, int... R>
TileFn TileFor(int64_t rows) {
  static constexpr TileFn kTable[] = {&Tile<R, V>...};
  return kTable[rows - 1];
}
template <int V>
TileFn AnyTile(int64_t rows) {
  return TileFor<V, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>(rows);
}

void Region(const GemmBf16Args& g, const Blocks& block, Range rows, Range columns, Pair* column_space, Pair* row_space,
            float* partial) {
  const int64_t all_pairs = CeilDiv(g.k, 2), row_count = rows.end - rows.begin;
  const int64_t tiles = CeilDiv(row_count, kTileRows);
  for (int64_t pair0 = 0; pair0 < all_pairs; pair0 += block.pairs) {
    const int64_t pairs = Min(block.pairs, all_pairs - pair0);
    const Finish finish{&g, block.cut_k ? partial : nullptr, pair0 == 0, pair0 + pairs == all_pairs};
    if (block.pack_rows) {
      for (int64_t t = 0; t < tiles; ++t) {
        const Range r = Piece(row_count, tiles, t);
        PackRows(g, pair0, pairs, rows.begin + r.begin, r.end - r.begin, row_space + r.begin * pairs);
      }
    }
    for (int64_t c0 = columns.begin; c0 < columns.end; c0 += block.columns) {
      const int64_t column_count = Min(block.columns, columns.end - c0);
      PackColumns(g, pair0, pairs, c0, column_count, column_space);
      for (int64_t t = 0; t < tiles; ++t) {
        const Range r = Piece(row_count, tiles, t);
        const int64_t height = r.end - r.begin, row = rows.begin + r.begin;
        const uint16_t* a = block.pack_rows ? reinterpret_cast<const uint16_t*>(row_space + r.begin * pairs)
                                            : g.a + row * g.a_row + pair0 * 2;
        const int64_t am = block.pack_rows ? 2 : g.a_row, ap = block.pack_rows ? 2 * height : 2;
        for (int64_t c = 0; c < column_count; c += kTileColumns) {
          const int64_t left = column_count - c;
          const TileFn tile = left > kLanes ? AnyTile<2>(height) : AnyTile<1>(height);
          tile(pairs, a, am, ap, column_space + c * pairs, finish, row, c0 + c, Min(left, kTileColumns));
        }
      }
    }
  }
}

void FinishOnly(const GemmBf16Args& g) {
  const Finish finish{&g, nullptr, true, true};
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; j += kLanes) FinishVec(finish, Zero(), i, j, Min(kLanes, g.n - j));
}

int64_t GemmWorkspace(const GemmBf16Args& g, int64_t threads) {
  if (g.m == 0 || g.n == 0 || g.k == 0) return 0;
  const Blocks block = BlocksOf(g);
  const int64_t partial = block.cut_k ? RoundUp(g.m * g.n, kLanes) : 0;
  return ((block.column_pairs + block.row_pairs) * Max(1, threads) + partial) * static_cast<int64_t>(sizeof(float));
}

void Gemm(const GemmBf16Args& g, float* workspace, const Parallel& pool) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return FinishOnly(g);
  const Blocks block = BlocksOf(g);
  const int64_t panels = CeilDiv(g.n, kTileColumns), tiles = CeilDiv(g.m, kTileRows);
  const bool cut_columns = panels >= 2 * pool.threads || panels >= tiles;
  const double nanoseconds = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / 256;
  const int64_t pieces = Pieces(pool, cut_columns ? panels : tiles, nanoseconds);
  Pair* packed = reinterpret_cast<Pair*>(workspace);
  const int64_t packed_size = block.column_pairs + block.row_pairs;
  float* partial = workspace + packed_size * Max(1, pool.threads);
  ForEach(pool, pieces, [&](int64_t i) {
    Pair* space = packed + i * packed_size;
    const Range all_rows{0, g.m}, all_columns{0, g.n};
    Region(g, block, cut_columns ? all_rows : Piece(g.m, pieces, i, kTileRows),
           cut_columns ? Piece(g.n, pieces, i, kTileColumns) : all_columns, space, space + block.column_pairs, partial);
  });
}

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
const Bf16Routines kBf16Routines = {.gemm_workspace = &GemmWorkspace,
                                    .gemm = &Gemm,
                                    .mask_gradient = &MaskGradient,
                                    .attention_workspace = &AttentionForwardWorkspace<Bf16>,
                                    .attention = &AttentionForward<Bf16>,
                                    .attention_grad_workspace = &AttentionGradWorkspace<Bf16>,
                                    .attention_grad = &AttentionGrad<Bf16>};

}  // namespace tenon::cpu::TENON_CPU_ISA

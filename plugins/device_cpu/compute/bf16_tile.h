// A register tile of products of bf16: 12 rows (broadcast operand, two neighbouring k at a time) by two vectors of 16 columns, and
// the packing of its row operand.
#pragma once

#include "plugins/device_cpu/compute/bf16_finish.h"
#include "plugins/device_cpu/compute/bf16_panels.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileRows = 12;

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

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

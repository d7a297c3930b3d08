// How a product of bf16 is cut between threads, and the memory that takes. Blocks says how one thread cuts its piece:
// `column_pairs` and `row_pairs` of packed operands, and `cut_k` where sums of several blocks of k are kept between them.
#pragma once

#include "plugins/device_cpu/compute/bf16_finish.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class Args, class Blocks>
int64_t PiecesWorkspace(const Args& g, const Blocks& block, int64_t threads) {
  const int64_t partial = block.cut_k && kParts<Args> == 1 ? RoundUp(g.m * g.n, kLanes) : 0;
  return ((block.column_pairs + block.row_pairs) * Max(1, threads) + partial) * static_cast<int64_t>(sizeof(float));
}

// Calls region(rows, columns, column_space, row_space, partial) for pieces that begin at whole multiples of kRows rows or whole panels;
// `rate` is in sums of products a nanosecond.
template <int64_t kRows, class Args, class Blocks, class Region>
void ForPieces(const Args& g, const Blocks& block, double rate, float* workspace, const Parallel& pool,
               const Region& region) {
  const int64_t panels = CeilDiv(g.n, kTileColumns), row_tiles = CeilDiv(g.m, kRows);
  const bool cut_columns = panels >= 2 * pool.threads || panels >= row_tiles;
  constexpr double kProducts = kParts<Args> == 1 ? 1 : 3;
  const double nanoseconds =
      kProducts * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / rate;
  const int64_t pieces = Pieces(pool, cut_columns ? panels : row_tiles, nanoseconds);
  Pair* packed = reinterpret_cast<Pair*>(workspace);
  const int64_t packed_size = block.column_pairs + block.row_pairs;
  float* partial = workspace + packed_size * Max(1, pool.threads);
  ForEach(pool, pieces, [&](int64_t i) {
    Pair* space = packed + i * packed_size;
    const Range all_rows{0, g.m}, all_columns{0, g.n};
    region(cut_columns ? all_rows : Piece(g.m, pieces, i, kRows),
           cut_columns ? Piece(g.n, pieces, i, kTileColumns) : all_columns, space, space + block.column_pairs, partial);
  });
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

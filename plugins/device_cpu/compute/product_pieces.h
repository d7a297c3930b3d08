// Products of bf16 as a whole: how one is cut between threads, the memory that takes, and the table of routines. Unit is what multiplies:
//   kRows, kRate              pieces begin at whole multiples of so many rows; sums of products a nanosecond
//   BlocksOf(args)            how one thread cuts its piece: `column_pairs` and `row_pairs` of packed operands, and `cut_k` where sums of
//                             several blocks of k are kept between them
//   Region(args, blocks, rows, columns, column_space, row_space, partial)    multiplies a piece
#pragma once

#include "plugins/device_cpu/compute/bf16_finish.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class Unit, class Args>
int64_t GemmWorkspace(const Args& g, int64_t threads) {
  if (g.m == 0 || g.n == 0 || g.k == 0) return 0;
  const auto block = Unit::BlocksOf(g);
  const int64_t partial = block.cut_k && kParts<Args> == 1 ? RoundUp(g.m * g.n, kLanes) : 0;
  return ((block.column_pairs + block.row_pairs) * Max(1, threads) + partial) * static_cast<int64_t>(sizeof(float));
}

template <class Unit, class Args>
void Gemm(const Args& g, float* workspace, const Parallel& pool) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return FinishOnly(g);
  const auto block = Unit::BlocksOf(g);
  const int64_t panels = CeilDiv(g.n, kTileColumns), row_tiles = CeilDiv(g.m, Unit::kRows);
  const bool cut_columns = panels >= 2 * pool.threads || panels >= row_tiles;
  constexpr double kProducts = kParts<Args> == 1 ? 1 : 3;
  const double nanoseconds =
      kProducts * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) / Unit::kRate;
  const int64_t pieces = Pieces(pool, cut_columns ? panels : row_tiles, nanoseconds);
  Pair* packed = reinterpret_cast<Pair*>(workspace);
  const int64_t packed_size = block.column_pairs + block.row_pairs;
  float* partial = workspace + packed_size * Max(1, pool.threads);
  ForEach(pool, pieces, [&](int64_t i) {
    Pair* space = packed + i * packed_size;
    const Range all_rows{0, g.m}, all_columns{0, g.n};
    Unit::Region(g, block, cut_columns ? all_rows : Piece(g.m, pieces, i, Unit::kRows),
                 cut_columns ? Piece(g.n, pieces, i, kTileColumns) : all_columns, space, space + block.column_pairs,
                 partial);
  });
}

template <class Unit>
constexpr Bf16Products kProductsOf = {.gemm_workspace = &GemmWorkspace<Unit, GemmBf16Args>,
                                      .gemm = &Gemm<Unit, GemmBf16Args>,
                                      .split_workspace = &GemmWorkspace<Unit, GemmArgs>,
                                      .split_gemm = &Gemm<Unit, GemmArgs>};

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

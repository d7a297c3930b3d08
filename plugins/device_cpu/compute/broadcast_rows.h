// The walk of two broadcast operands, row by row. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/elementwise.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Calls f(a, b, out) with the places where outer rows [rows.begin, rows.end) begin at element `first` of the inner dim.
template <class T, class F>
TENON_INLINE void ForBroadcastRows(const BinaryArgsOf<T>& p, Range rows, int64_t first, const F& f) {
  const int inner = p.rank - 1;
  int64_t index[BinaryArgs::kMaxRank] = {}, at_a = p.a_strides[inner] * first, at_b = p.b_strides[inner] * first,
          rest = rows.begin;
  for (int d = inner - 1; d >= 0; --d) {
    index[d] = rest % p.dims[d];
    rest /= p.dims[d];
    at_a += index[d] * p.a_strides[d];
    at_b += index[d] * p.b_strides[d];
  }
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    f(at_a, at_b, row * p.dims[inner] + first);
    for (int d = inner - 1; d >= 0; --d) {
      at_a += p.a_strides[d];
      at_b += p.b_strides[d];
      if (++index[d] < p.dims[d]) break;
      at_a -= p.a_strides[d] * p.dims[d];
      at_b -= p.b_strides[d] * p.dims[d];
      index[d] = 0;
    }
  }
}

// Cuts work of so many nanoseconds an element for the pool: calls f(rows, part) with outer rows and a part of the inner dim.
template <class T, class F>
TENON_INLINE void ForBroadcastPieces(const BinaryArgsOf<T>& p, double nanoseconds, const Parallel& pool, const F& f) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < p.rank; ++d) rows *= p.dims[d];
  const int64_t inner = p.dims[p.rank - 1];
  if (rows == 0 || inner == 0) return;
  const bool cut_rows = rows >= inner;
  const int64_t pieces =
      Pieces(pool, cut_rows ? rows : CeilDiv(inner, 64), nanoseconds * static_cast<double>(rows * inner));
  ForEach(pool, pieces, [&](int64_t i) {
    if (cut_rows)
      f(Piece(rows, pieces, i), Range{0, inner});
    else
      f(Range{0, rows}, Piece(inner, pieces, i, 64));
  });
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// Products between Winograd's transforms, on vectors or on the tile unit. Included by files compiled per instruction set.
#pragma once

#include <utility>

#include "plugins/device_cpu/compute/pairs.h"
#include "plugins/device_cpu/compute/tile_multiplier.h"
#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kRows = kAccumulators / 2;  // of a register tile, by two vectors

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

using RowCounts = std::make_integer_sequence<int, kRows>;  // each less one
template <class E>
using ProductFn = void (*)(const E*, int64_t, const E*, int64_t, float*, int64_t);
template <class E, int V, int... R>
TENON_INLINE ProductFn<E> FindProduct(int64_t rows, std::integer_sequence<int, R...>) {
  static constexpr ProductFn<E> kTable[] = {&ProductTile<E, R + 1, V>...};
  return kTable[rows - 1];
}
template <class E>
using SumFn = void (*)(const E*, int64_t, const E*, int64_t, int64_t, bool, float*, int64_t);
template <class E, int V, int... R>
TENON_INLINE SumFn<E> FindSum(int64_t rows, std::integer_sequence<int, R...>) {
  static constexpr SumFn<E> kTable[] = {&SumTile<E, R + 1, V>...};
  return kTable[rows - 1];
}

// m [rows][width] = v [rows][k] * u [k][width]; k counts elements of E, and width is one vector or two. On the tile unit, if there is one.
template <class E>
void Product(const TileMultiplier* unit, int64_t rows, int64_t width, int64_t k, const E* v, int64_t v_row, const E* u,
             float* m, int64_t m_row) {
  if (kPack<E> == 2 && unit != nullptr) return unit->multiply({rows, width, k, v, v_row, 1, u, width, m, m_row, false});
  const int64_t panels = CeilDiv(rows, kRows);
  for (int64_t i = 0; i < panels; ++i) {
    const Range r = Piece(rows, panels, i);
    const ProductFn<E> f = width == kLanes ? FindProduct<E, 1>(r.end - r.begin, RowCounts())
                                           : FindProduct<E, 2>(r.end - r.begin, RowCounts());
    f(v + r.begin * v_row, v_row, u, k, m + r.begin * m_row, m_row);
  }
}

// du [c][oc] = v^T [c][rows] * m [rows][oc], added if `add`; rows counts elements of E. On the tile unit, if there is one.
template <class E>
void Sum(const TileMultiplier* unit, int64_t c, int64_t oc, int64_t rows, const E* v, int64_t v_row, const E* m,
         int64_t m_row, bool add, float* du, int64_t du_row) {
  if (kPack<E> == 2 && unit != nullptr) return unit->multiply({c, oc, rows, v, 1, v_row, m, m_row, du, du_row, add});
  const int64_t panels = CeilDiv(c, kRows);
  for (int64_t first = 0; first < oc; first += 2 * kLanes) {
    for (int64_t i = 0; i < panels; ++i) {
      const Range r = Piece(c, panels, i);
      const SumFn<E> f = oc - first <= kLanes ? FindSum<E, 1>(r.end - r.begin, RowCounts())
                                              : FindSum<E, 2>(r.end - r.begin, RowCounts());
      f(v + r.begin, v_row, m + first, m_row, rows, add, du + r.begin * du_row + first, du_row);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

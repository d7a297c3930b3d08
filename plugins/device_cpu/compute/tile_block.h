// A block of up to two by two tiles of sums, R by rows and V by columns: tiles 0 to 3 by rows. Tiles 4 and 5 hold rows, 6 and 7 columns.
#pragma once

#include "plugins/device_cpu/compute/tile_unit.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kTileSize = kTileSide * kTileSide;  // elements in a tile

template <int R, int V>
struct TileBlock {
  static TENON_INLINE void Zero() { TileZero<0>(), TileZero<1>(), TileZero<2>(), TileZero<3>(); }

  // Steps from row to row are bytes.
  static TENON_INLINE void LoadSums(const float* sums, int64_t step) {
    const float* const below = Below(sums, step);
    TileLoad<0>(sums, step);
    if constexpr (V == 2) TileLoad<1>(sums + kTileSide, step);
    if constexpr (R == 2) TileLoad<2>(below, step);
    if constexpr (R == 2 && V == 2) TileLoad<3>(below + kTileSide, step);
  }
  static TENON_INLINE void StoreSums(float* sums, int64_t step) {
    float* const below = Below(sums, step);
    TileStore<0>(sums, step);
    if constexpr (V == 2) TileStore<1>(sums + kTileSide, step);
    if constexpr (R == 2) TileStore<2>(below, step);
    if constexpr (R == 2 && V == 2) TileStore<3>(below + kTileSide, step);
  }
  static TENON_INLINE void LoadRows(const Pair* a, const Pair* below, int64_t step) {
    TileLoad<4>(a, step);
    if constexpr (R == 2) TileLoad<5>(below, step);
  }
  static TENON_INLINE void LoadColumns(const Pair* b, int64_t step) {
    TileLoad<6>(b, step);
    if constexpr (V == 2) TileLoad<7>(b + kTileSide, step);
  }
  static TENON_INLINE void AddProducts() {
    TileProduct<0, 4, 6>();
    if constexpr (V == 2) TileProduct<1, 4, 7>();
    if constexpr (R == 2) TileProduct<2, 5, 6>();
    if constexpr (R == 2 && V == 2) TileProduct<3, 5, 7>();
  }

 private:
  template <class T>
  static TENON_INLINE T* Below(T* sums, int64_t step) {
    return sums + kTileSide * step / static_cast<int64_t>(sizeof(T));
  }
};

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// The tile unit of a processor (AMX): eight tiles of 16 rows of 64 bytes. A tile holds 16 x 16 sums in float, 16 rows of the
// row operand with 16 pairs of bf16 each, or 16 pairs of 16 columns of the other operand. With TENON_CPU_TILES_EMULATED the same
// in plain code, for tests on processors that have none.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/bf16_panels.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int kTileSide = 16;

#if defined(TENON_CPU_TILES_EMULATED)

alignas(64) thread_local float g_tiles[8][kTileSide][kTileSide];

struct TileUnit {
  static void Begin() {
    for (auto& tile : g_tiles)
      for (auto& row : tile)
        for (float& lane : row) lane = __builtin_nanf("");
  }
  static void End() {}
};

template <int kTile>
TENON_INLINE void TileZero() {
  for (auto& row : g_tiles[kTile]) Store(row, Zero());
}
template <int kTile>
TENON_INLINE void TileLoad(const void* from, int64_t step) {
  for (int i = 0; i < kTileSide; ++i)
    __builtin_memcpy(g_tiles[kTile][i], static_cast<const char*>(from) + i * step, 64);
}
template <int kTile>
TENON_INLINE void TileStore(float* to, int64_t step) {
  for (int i = 0; i < kTileSide; ++i) __builtin_memcpy(reinterpret_cast<char*>(to) + i * step, g_tiles[kTile][i], 64);
}
template <int kSums, int kRows, int kColumns>
TENON_INLINE void TileProduct() {
  for (int i = 0; i < kTileSide; ++i)
    for (int p = 0; p < kTileSide; ++p) {
      Pair pair;
      __builtin_memcpy(&pair, &g_tiles[kRows][i][p], sizeof pair);
      Store(g_tiles[kSums][i], PairProduct(Load(g_tiles[kSums][i]), pair, Load(g_tiles[kColumns][p])));
    }
}

#else

// The calling thread has the tiles between the two. Other libraries of the process leave another configuration behind.
struct TileUnit {
  static void Begin() {
    struct alignas(64) Config {
      uint8_t palette = 1, start_row = 0, unused[14] = {};
      uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    static_assert(sizeof(Config) == 64);
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
  }
  static void End() { __asm__ volatile("tilerelease"); }
};

template <int kTile>
TENON_INLINE void TileZero() {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
// 16 rows, `step` bytes apart.
template <int kTile>
TENON_INLINE void TileLoad(const void* from, int64_t step) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(step), "i"(kTile) : "memory");
}
template <int kTile>
TENON_INLINE void TileStore(float* to, int64_t step) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(step), "i"(kTile) : "memory");
}
// sums += rows * columns
template <int kSums, int kRows, int kColumns>
TENON_INLINE void TileProduct() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kRows), "i"(kColumns));
}

#endif

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

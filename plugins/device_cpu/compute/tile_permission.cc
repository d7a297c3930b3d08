#include "plugins/device_cpu/compute/tile_permission.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace tenon::cpu {
namespace {

bool HasTiles() {
  constexpr unsigned kSavesExtendedState = 1u << 27, kTileState = 3u << 17, kTiles = 1u << 24, kTilesOfBf16 = 1u << 22;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavesExtendedState) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kTileState) != kTileState) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTiles) != 0 && (d & kTilesOfBf16) != 0;
}

// Whole numbers from -5 to 5 as bf16.
float SmallNumber(size_t i) { return static_cast<float>(static_cast<int>(i * 37 % 11) - 5); }
std::vector<uint16_t> SmallNumbers(size_t count) {
  std::vector<uint16_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    const float x = SmallNumber(i);
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    out[i] = static_cast<uint16_t>(bits >> 16);
  }
  return out;
}

// A and B hold SmallNumbers; C begins with 1 everywhere.
bool MultipliesExactly(const TileMultiplier& tiles, size_t rows, size_t columns, size_t pairs, bool transposed) {
  const std::vector<uint16_t> a = SmallNumbers(rows * pairs * 2), b = SmallNumbers(pairs * columns * 2);
  std::vector<float> c(rows * columns, 1.0f);
  const size_t a_row = transposed ? 1 : pairs, a_pair = transposed ? rows : 1;
  {
    const TileScope scope(&tiles);
    const auto size = [](size_t x) { return static_cast<int64_t>(x); };
    tiles.multiply({size(rows), size(columns), size(pairs), a.data(), size(a_row), size(a_pair), b.data(),
                    size(columns), c.data(), size(columns), true});
  }
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      float sum = 1.0f;
      for (size_t p = 0; p < pairs; ++p)
        for (size_t half = 0; half < 2; ++half)
          sum += SmallNumber((i * a_row + p * a_pair) * 2 + half) * SmallNumber((p * columns + j) * 2 + half);
      if (c[i * columns + j] != sum) return false;
    }
  return true;
}

struct Workspace {
  explicit Workspace(int64_t bytes)
      : memory(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64))), &std::free) {}
  std::unique_ptr<float, void (*)(void*)> memory;
};

std::vector<float> Product(const Bf16Products& products, GemmBf16Args g, size_t count) {
  std::vector<float> c(count);
  g.wide_c = c.data();
  const Workspace space(products.gemm_workspace(g, 1));
  products.gemm(g, space.memory.get(), Parallel{});
  return c;
}

}  // namespace

bool MayUseTiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2): ARCH_REQ_XCOMP_PERM
  static const bool may = HasTiles() && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return may;
}

bool GiveSameProducts(const Bf16Products& known, const Bf16Products& other) {
  constexpr int64_t m = 35, n = 53, k = 94;
  const std::vector<uint16_t> a = SmallNumbers(m * k), b = SmallNumbers(k * n);
  for (const bool transposed : {false, true}) {
    GemmBf16Args g;
    g.m = m, g.n = n, g.k = k, g.c_row = n;
    g.a = a.data(), g.a_row = transposed ? 1 : k, g.a_col = transposed ? m : 1;
    g.b = b.data(), g.b_row = transposed ? 1 : n, g.b_col = transposed ? k : 1;
    if (Product(known, g, m * n) != Product(other, g, m * n)) return false;
  }
  return true;
}

bool MultipliesExactly(const TileMultiplier& tiles) {
  for (const bool transposed : {false, true})
    for (const size_t rows : {32, 37})
      for (const size_t pairs : {48, 23})
        if (!MultipliesExactly(tiles, rows, 48, pairs, transposed)) return false;
  return true;
}

}  // namespace tenon::cpu

// The tile units that tests multiply on: in plain code, and the processor's own where it has one.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {

namespace emulated_tiles {
extern const TileMultiplier kTileMultiplier;
}

struct TilesOfTest {
  std::string name;
  const TileMultiplier* multiplier;
};
inline std::ostream& operator<<(std::ostream& out, const TilesOfTest& tiles) { return out << tiles.name; }

inline std::vector<TilesOfTest> AllTileMultipliers() {
  std::vector<TilesOfTest> all{{"emulated_tiles", &emulated_tiles::kTileMultiplier}};
  if (const TileMultiplier* own = FindTileMultiplier()) all.push_back({"tiles", own});
  return all;
}

// What the routines of a table are given one after the other: none, and if they multiply pairs of bf16 each unit.
inline std::vector<TilesOfTest> UnitsOf(const Routines* r) {
  std::vector<TilesOfTest> all{{r->isa, nullptr}};
  if (r == FindRoutines("avx512") && FindBf16Routines() != nullptr)
    for (const TilesOfTest& unit : AllTileMultipliers()) all.push_back(unit);
  return all;
}

inline std::vector<std::pair<const Routines*, TilesOfTest>> EachOnEveryUnit() {
  std::vector<std::pair<const Routines*, TilesOfTest>> all;
  for (const Routines* r : AllRoutines())
    for (const TilesOfTest& unit : UnitsOf(r)) all.emplace_back(r, unit);
  return all;
}

}  // namespace tenon::cpu

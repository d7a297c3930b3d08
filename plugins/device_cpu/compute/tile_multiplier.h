// Products of matrices that lie in the caches on the tile unit (AMX), for routines that otherwise multiply them on vectors.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// C[rows][columns] = A[rows][pairs] B[pairs][columns] in f32, added to C with `add`. An element of A or B is two numbers of bf16,
// neighbours along the sum. columns is a multiple of 16; nothing beyond the matrices is read or written.
struct PairMatrices {
  int64_t rows = 0, columns = 0, pairs = 0;
  const void* a = nullptr;
  int64_t a_row = 0, a_pair = 1;  // from element to element; one of them is 1
  const void* b = nullptr;
  int64_t b_pair = 0;
  float* c = nullptr;
  int64_t c_row = 0;
  bool add = false;
};

// The calling thread has the tile unit from begin to end, and no other code uses it between them.
struct TileMultiplier {
  void (*begin)();
  void (*multiply)(const PairMatrices&);
  void (*end)();
};

// Holds the tile unit while it lives, if there is one.
class TileScope {
 public:
  explicit TileScope(const TileMultiplier* tiles) : tiles_(tiles) {
    if (tiles_ != nullptr) tiles_->begin();
  }
  ~TileScope() {
    if (tiles_ != nullptr) tiles_->end();
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const TileMultiplier* tiles_;
};

}  // namespace tenon::cpu

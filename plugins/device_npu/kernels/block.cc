#include "kernels/block.h"

#include <cstring>

namespace tenon::npu {
namespace {

// As wide as the instruction set allows two vectors a row of accumulators to stay in registers.
#if defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

Vector Load(const float* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

// Two vectors of columns.
void Columns(int64_t depth, const float* a, const float* b, float* c, bool add) {
  static_assert(kBlockRows == 4);
  Vector left[4] = {}, right[4] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const Vector x = Load(b), y = Load(b + kLanes);
    for (int64_t r = 0; r < 4; ++r) {
      left[r] += a[r] * x;
      right[r] += a[r] * y;
    }
    a += kBlockRows;
    b += kBlockColumns;
  }
  for (int64_t r = 0; r < 4; ++r) {
    float* to = c + r * kBlockColumns;
    if (add) {
      left[r] += Load(to);
      right[r] += Load(to + kLanes);
    }
    std::memcpy(to, &left[r], sizeof(Vector));
    std::memcpy(to + kLanes, &right[r], sizeof(Vector));
  }
}

}  // namespace

#if defined(__AVX2__)
void BlockAvx2(int64_t depth, const float* a, const float* b, float* c, bool add) {
#else
void BlockBaseline(int64_t depth, const float* a, const float* b, float* c, bool add) {
#endif
  for (int64_t first = 0; first < kBlockColumns; first += 2 * kLanes) Columns(depth, a, b + first, c + first, add);
}

}  // namespace tenon::npu

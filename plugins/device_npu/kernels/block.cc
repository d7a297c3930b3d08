#include "kernels/block.h"

namespace tenon::npu {
namespace {

// As wide as the instruction set allows four rows of accumulators to stay in registers.
#if defined(__AVX2__)
constexpr int64_t kLanes = 16;
#else
constexpr int64_t kLanes = 8;
#endif

}  // namespace

#if defined(__AVX2__)
void BlockAvx2(int64_t depth, const float* a, const float* b, float* c, bool add) {
#else
void BlockBaseline(int64_t depth, const float* a, const float* b, float* c, bool add) {
#endif
  for (int64_t first = 0; first < kBlockColumns; first += kLanes) {
    float sums[kBlockRows][kLanes] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const float *left = a + k * kBlockRows, *right = b + k * kBlockColumns + first;
      for (int64_t r = 0; r < kBlockRows; ++r)
        for (int64_t j = 0; j < kLanes; ++j) sums[r][j] += left[r] * right[j];
    }
    for (int64_t r = 0; r < kBlockRows; ++r) {
      float* to = c + r * kBlockColumns + first;
      for (int64_t j = 0; j < kLanes; ++j) to[j] = (add ? to[j] : 0.0f) + sums[r][j];
    }
  }
}

}  // namespace tenon::npu

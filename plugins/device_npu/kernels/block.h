// The innermost loop of matrix products, compiled once for every x86-64 and once for AVX2 with FMA.
#pragma once

#include <cstdint>

namespace tenon::npu {

constexpr int64_t kBlockRows = 4, kBlockColumns = 16;

// c[4][16] = (add ? c : 0) + sum over k of a[k][4] * b[k][16]
using BlockFn = void (*)(int64_t depth, const float* a, const float* b, float* c, bool add);

void BlockBaseline(int64_t depth, const float* a, const float* b, float* c, bool add);
void BlockAvx2(int64_t depth, const float* a, const float* b, float* c, bool add);

// The one for this processor.
BlockFn FindBlock();

}  // namespace tenon::npu

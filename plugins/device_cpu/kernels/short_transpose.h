// Transposition of matrices of 16-bit elements of any kind. Bound by memory, hence one form for all instruction sets.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y[b][c][r] = x[b][r][c]; both dense, no overlap.
void TransposeShorts(int64_t batch, int64_t rows, int64_t columns, const uint16_t* x, uint16_t* y);

}  // namespace tenon::cpu

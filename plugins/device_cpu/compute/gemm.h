// Matrix product in f32: C[m][n] = finish(alpha * A[m][k] * B[k][n]).
#pragma once

#include <cstdint>

namespace tenon::cpu {

// A and B have any strides (elements); a transposed operand is one with its strides exchanged. C has unit column stride.
// finish, in this order: add the old C if `accumulate`; add bias[n] if given; max(0, .) if `relu` (NaN stays NaN); zero
// where mask[m][n] <= 0 if given. Gelu of C goes to `gelu`, with the row stride of C, which may be C, if given. m, n or k may be 0 (k = 0: the product is zero). C overlaps no operand but
// the mask, which may be C itself only if `accumulate` is false.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 1;
  const float* b = nullptr;
  int64_t b_row = 0, b_col = 1;
  float* c = nullptr;
  int64_t c_row = 0;
  float alpha = 1.0f;
  const float* bias = nullptr;
  const float* mask = nullptr;
  int64_t mask_row = 0;
  bool relu = false;
  bool accumulate = false;
  float* gelu = nullptr;
  bool gelu_tanh = false;  // its form with a hyperbolic tangent
};

}  // namespace tenon::cpu

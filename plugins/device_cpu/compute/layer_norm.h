// Layer normalisation of rows, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y = (x - mean) * inv_std * scale + bias per row of `columns`; bias null: none. x plus `addend` (null: none) is what is
// normalised, and written to `sum` (null: not wanted). mean and inv_std [rows] may be null. y may be x or addend.
struct LayerNormArgs {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  const float* addend = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5f;
  float* sum = nullptr;
  float* y = nullptr;
  float* mean = nullptr;
  float* inv_std = nullptr;
};

// dx = inv_std * (g - (sum g + xhat * sum(g * xhat)) / columns) + addend with g = dy * scale; d_scale = sum of dy * xhat and
// d_bias = sum of dy over the rows. dx, d_scale, d_bias and addend may be null; dx may be dy or addend.
struct LayerNormGradArgs {
  int64_t rows = 0, columns = 0;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* addend = nullptr;
  float* dx = nullptr;
  float* d_scale = nullptr;
  float* d_bias = nullptr;
};

}  // namespace tenon::cpu

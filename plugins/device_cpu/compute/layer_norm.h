// Layer normalisation of rows, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y = (x - mean) * inv_std * scale + bias per row of `columns`; bias null: none. x plus `addend` (null: none) is what is
// normalised, and written to `sum` (null: not wanted). mean and inv_std [rows] may be null. y may be x or addend.
template <class T>
struct LayerNormArgsOf {
  int64_t rows = 0, columns = 0;
  const T* x = nullptr;
  const T* addend = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5f;
  T* sum = nullptr;
  T* y = nullptr;
  float* mean = nullptr;
  float* inv_std = nullptr;
};
using LayerNormArgs = LayerNormArgsOf<float>;

// dx = inv_std * (g - (sum g + xhat * sum(g * xhat)) / columns) + addend with g = dy * scale; d_scale = sum of dy * xhat and
// d_bias = sum of dy over the rows. mean and inv_std null: computed again, with epsilon. dx, d_scale, d_bias and addend may
// be null; dx may be dy or addend.
template <class T>
struct LayerNormGradArgsOf {
  int64_t rows = 0, columns = 0;
  const T* dy = nullptr;
  const T* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  float epsilon = 1e-5f;
  const T* addend = nullptr;
  T* dx = nullptr;
  float* d_scale = nullptr;
  float* d_bias = nullptr;
};
using LayerNormGradArgs = LayerNormGradArgsOf<float>;

}  // namespace tenon::cpu

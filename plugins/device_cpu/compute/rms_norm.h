// Division of rows by the root of their mean square, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y = x * r * scale per row of `columns`, r = 1 / sqrt(mean of x^2 + epsilon). y may be x.
struct RmsNormArgs {
  int64_t rows = 0, columns = 0;
  float epsilon = 1e-5f;
  const float* x = nullptr;
  const float* scale = nullptr;
  float* y = nullptr;
};

// With xhat = x * r and g = dy * scale: dx = r * (g - xhat * sum(g * xhat) / columns); d_scale = sum of dy * xhat over the
// rows. Each result may be null; dx may be dy.
struct RmsNormGradArgs {
  int64_t rows = 0, columns = 0;
  float epsilon = 1e-5f;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  float* dx = nullptr;
  float* d_scale = nullptr;
};

}  // namespace tenon::cpu

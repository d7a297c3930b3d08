// Gelu and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y = x Phi(x), or its form with a hyperbolic tangent; y may be x.
struct GeluArgs {
  int64_t count = 0;
  bool approximate = false;
  const float* x = nullptr;
  float* y = nullptr;
};

// dx = dy * d Gelu(x) / dx over [rows][columns]; column_sums[c] = sum of the column of dx, or null (then no workspace is
// read). dx may be dy or x.
struct GeluGradArgs {
  int64_t rows = 0, columns = 0;
  bool approximate = false;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  float* column_sums = nullptr;
};

}  // namespace tenon::cpu

// Gelu and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// y = x Phi(x), or its form with a hyperbolic tangent; y may be x.
template <class T>
struct GeluArgsOf {
  int64_t count = 0;
  bool approximate = false;
  const T* x = nullptr;
  T* y = nullptr;
};
using GeluArgs = GeluArgsOf<float>;

// dx = dy * d Gelu(x) / dx over [rows][columns]; column_sums[c] = sum of the column of dx, or null (then no workspace is
// read). dx may be dy or x.
template <class T>
struct GeluGradArgsOf {
  int64_t rows = 0, columns = 0;
  bool approximate = false;
  const T* x = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  T* column_sums = nullptr;
};
using GeluGradArgs = GeluGradArgsOf<float>;

}  // namespace tenon::cpu

#pragma once

#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {

inline constexpr double kInverseSqrt2 = 0.70710678118654752440;
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;
inline constexpr double kInverseSqrt2Pi = 0.39894228040143267794;

inline Result<bool> GeluIsApproximate(const Attributes& attrs) {
  const std::string& text = attrs.Text("approximate");
  if (text == "tanh") return true;
  if (text == "none") return false;
  return InvalidArgument("Gelu approximate is '{}'; it can be none or tanh.", text);
}

// sqrt(2 / pi) * (x + 0.044715 x^3)
template <class A>
A GeluTanhArgument(A x) {
  return static_cast<A>(kSqrt2OverPi) * (x + static_cast<A>(0.044715) * x * x * x);
}

}  // namespace tenon

// Gelu and its derivative on vectors. Included by files compiled per instruction set.
#pragma once

#include "plugins/device_cpu/compute/math.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// The normal distribution: its density phi and its integral Phi, each to about 1e-7 of its size. Phi(-z sqrt 2) =
// exp(-z^2) t P(t) / 2 with t = 1 / (1 + 0.3 z), z >= 0; P is the best polynomial of degree 8 for 0 <= z <= 10 (least
// squares, reweighted; error 2e-8).
struct Normal {
  Vec density, integral;
};
TENON_INLINE Normal NormalOf(Vec x) {
  const Vec size = Abs(x);
  const Vec e = ExpOfNegative(x * x * Set(-0.5f));
  const Vec t = Set(1.0f) / (Set(1.0f) + size * Set(0.3f * 0.707106781f));
  Vec p = Set(-0.129523637f);
  p = p * t + Set(0.485566867f);
  p = p * t + Set(-0.512285867f);
  p = p * t + Set(0.547729209f);
  p = p * t + Set(-0.0946572822f);
  p = p * t + Set(0.214928952f);
  p = p * t + Set(0.148338402f);
  p = p * t + Set(0.170715339f);
  p = p * t + Set(0.169187998f);
  const Vec tail = p * t * e * Set(0.5f);
  return {e * Set(0.398942280f), Select(x < Zero(), tail, Set(1.0f) - tail)};
}

// sqrt(2 / pi) (x + 0.044715 x^3) twice, so that (1 + tanh(u)) / 2 = Sigmoid(2 u); and its derivative.
TENON_INLINE Vec TwiceArgument(Vec x) { return x * (Set(1.59576912f) + x * x * Set(0.0713548163f)); }
TENON_INLINE Vec TwiceSlope(Vec x) { return Set(1.59576912f) + x * x * Set(3 * 0.0713548163f); }

template <bool kApproximate>
TENON_INLINE Vec GeluValue(Vec x) {
  if (kApproximate) return x * Sigmoid(TwiceArgument(x));
  return x * NormalOf(x).integral;
}

template <bool kApproximate>
TENON_INLINE Vec GeluSlope(Vec x) {
  if (kApproximate) {
    // s = Sigmoid(2 u); 1 - s would lose its digits where s is near 1, e s does not.
    const Vec e = Exp(AtMost(-TwiceArgument(x), 88.0f));
    const Vec s = Set(1.0f) / (Set(1.0f) + e);
    return s + x * s * (e * s) * TwiceSlope(x);
  }
  const Normal n = NormalOf(x);
  return n.integral + x * n.density;
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

// Winograd's F(M, 3) for M = 2 and 4 along one axis: M outputs of a window of three from M + 2 products, and the same for
// the two gradients (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016). Included by files compiled per
// instruction set.
#pragma once

#include "plugins/device_cpu/compute/vec.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int M>
struct Axis;

template <>
struct Axis<2> {
  // B^T d
  static TENON_INLINE void Input(const Vec (&d)[4], Vec (&o)[4]) {
    o[0] = d[0] - d[2], o[1] = d[1] + d[2], o[2] = d[2] - d[1], o[3] = d[1] - d[3];
  }
  // A^T q
  static TENON_INLINE void Output(const Vec (&q)[4], Vec (&y)[2]) {
    y[0] = q[0] + q[1] + q[2], y[1] = q[1] - q[2] - q[3];
  }
  // A g
  static TENON_INLINE void Gradient(const Vec (&g)[2], Vec (&o)[4]) {
    o[0] = g[0], o[1] = g[0] + g[1], o[2] = g[0] - g[1], o[3] = -g[1];
  }
  // G w
  static TENON_INLINE void Weights(const Vec (&w)[3], Vec (&u)[4]) {
    const Vec half = Set(0.5f), outer = (w[0] + w[2]) * half, middle = w[1] * half;
    u[0] = w[0], u[1] = outer + middle, u[2] = outer - middle, u[3] = w[2];
  }
  // G^T q
  static TENON_INLINE void Sums(const Vec (&q)[4], Vec (&w)[3]) {
    const Vec half = Set(0.5f), sum = (q[1] + q[2]) * half;
    w[0] = q[0] + sum, w[1] = (q[1] - q[2]) * half, w[2] = sum + q[3];
  }
};

// With the points 0, 1, -1, 2, -2 and infinity.
template <>
struct Axis<4> {
  static TENON_INLINE void Input(const Vec (&d)[6], Vec (&o)[6]) {
    const Vec four = Set(4), five = Set(5), two = Set(2);
    const Vec even = d[4] - four * d[2], odd = d[3] - four * d[1];
    const Vec even2 = d[4] - d[2], odd2 = two * (d[3] - d[1]);
    o[0] = four * d[0] - five * d[2] + d[4];
    o[1] = even + odd, o[2] = even - odd, o[3] = even2 + odd2, o[4] = even2 - odd2;
    o[5] = four * d[1] - five * d[3] + d[5];
  }
  static TENON_INLINE void Output(const Vec (&q)[6], Vec (&y)[4]) {
    const Vec sum = q[1] + q[2], difference = q[1] - q[2], sum2 = q[3] + q[4], difference2 = q[3] - q[4];
    y[0] = q[0] + sum + sum2;
    y[1] = difference + Set(2) * difference2;
    y[2] = sum + Set(4) * sum2;
    y[3] = difference + Set(8) * difference2 + q[5];
  }
  static TENON_INLINE void Gradient(const Vec (&g)[4], Vec (&o)[6]) {
    const Vec even = g[0] + g[2], odd = g[1] + g[3];
    const Vec even2 = g[0] + Set(4) * g[2], odd2 = Set(2) * g[1] + Set(8) * g[3];
    o[0] = g[0], o[1] = even + odd, o[2] = even - odd, o[3] = even2 + odd2, o[4] = even2 - odd2, o[5] = g[3];
  }
  static TENON_INLINE void Weights(const Vec (&w)[3], Vec (&u)[6]) {
    const Vec sixth = Set(1.0f / 6), outer = (w[0] + w[2]) * sixth, middle = w[1] * sixth;
    const Vec outer2 = w[0] * Set(1.0f / 24) + w[2] * sixth, middle2 = w[1] * Set(1.0f / 12);
    u[0] = w[0] * Set(0.25f), u[1] = -(outer + middle), u[2] = middle - outer;
    u[3] = outer2 + middle2, u[4] = outer2 - middle2, u[5] = w[2];
  }
  static TENON_INLINE void Sums(const Vec (&q)[6], Vec (&w)[3]) {
    const Vec sixth = Set(1.0f / 6), sum = (q[1] + q[2]) * sixth, sum2 = q[3] + q[4];
    w[0] = q[0] * Set(0.25f) - sum + sum2 * Set(1.0f / 24);
    w[1] = (q[2] - q[1]) * sixth + (q[3] - q[4]) * Set(1.0f / 12);
    w[2] = sum2 * sixth - sum + q[5];
  }
};

// transform(column) of each column, then of each row of that: the same along both axes.
template <int kIn, int kOut, class F>
TENON_INLINE void AlongBothAxes(const Vec (&in)[kIn][kIn], Vec (&out)[kOut][kOut], const F& transform) {
  Vec t[kOut][kIn];
  TENON_UNROLL for (int j = 0; j < kIn; ++j) {
    Vec column[kIn], transformed[kOut];
    TENON_UNROLL for (int i = 0; i < kIn; ++i) column[i] = in[i][j];
    transform(column, transformed);
    TENON_UNROLL for (int i = 0; i < kOut; ++i) t[i][j] = transformed[i];
  }
  TENON_UNROLL for (int i = 0; i < kOut; ++i) transform(t[i], out[i]);
}

}  // namespace
}  // namespace tenon::cpu::TENON_CPU_ISA

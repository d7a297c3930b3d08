// Elementwise work: one function on every element of one or two operands of equal shape.
#pragma once

#include "kernels/number.h"
#include "kernels/work.h"

namespace tenon::npu {

// Elements of which a piece of a parallel loop has at least so many.
constexpr int64_t kGrain = 16384;

// Vector operations that one element of a function costs (README.md).
constexpr uint64_t kSimple = 1;
constexpr uint64_t kTranscendental = 16;

// Output 0 = fn(input 0) in f32, for f32, bf16 and f16, in any layout.
template <class Fn>
Work Map(const Request& request, uint64_t weight, Fn fn) {
  request.RequireFloat(0);
  const int64_t count = request.stored(0);
  Work work;
  work.cost = {0, weight * static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [count, fn](const Operands& o) {
      const T* x = o.in<T>(0);
      T* y = o.out<T>(0);
      o.Each(count, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = Narrow<T>(fn(Widen(x[i])));
      });
    };
  });
  return work;
}

// Output 0 = fn(input 0, input 1) for operands of one shape and type.
template <class Fn>
Work Zip(const Request& request, uint64_t weight, Fn fn) {
  request.RequireFloat(0);
  request.RequireType(1, request.input(0).dtype());
  const int64_t count = request.stored(0);
  Work work;
  work.cost = {0, weight * static_cast<uint64_t>(count), request.bytes()};
  ForFloat(request.input(0).dtype(), [&](auto type) {
    using T = decltype(type);
    work.run = [count, fn](const Operands& o) {
      const T *a = o.in<T>(0), *b = o.in<T>(1);
      T* y = o.out<T>(0);
      o.Each(count, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = Narrow<T>(fn(Widen(a[i]), Widen(b[i])));
      });
    };
  });
  return work;
}

inline float FloatAttribute(const Request& request, std::string_view name, double fallback) {
  return static_cast<float>(request.attributes().Float(name, fallback));
}

inline float Logistic(float z) {
  const float e = std::exp(-std::abs(z));
  return (z >= 0 ? 1.0f : e) / (1.0f + e);
}

}  // namespace tenon::npu

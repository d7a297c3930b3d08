#pragma once

#include <cstdint>
#include <type_traits>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {

inline constexpr TypeSet kSignedTypes = kFloatingTypes | TypeSet{DType::kI8, DType::kI16, DType::kI32, DType::kI64};

// fn(a, b) in the arithmetic of the references: 16-bit floats compute in float; integers wrap modulo 2^bits, as numpy's
// do, which 64-bit unsigned arithmetic gives for sums, differences and products.
template <class T, class Fn>
T Combine(T a, T b, Fn fn) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(fn(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    using A = Accumulator<T>;
    return static_cast<T>(fn(static_cast<A>(a), static_cast<A>(b)));
  }
}

// Output 0 = fn(input 0), elementwise, floating dtypes. fn takes and returns float or double.
template <class Fn>
Status MapFloating(const ReferenceArgs& args, Fn fn) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    const T* x = args.inputs[0].data<T>();
    T* y = args.outputs[0].data<T>();
    const std::int64_t count = args.outputs[0].elements();
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(static_cast<Accumulator<T>>(x[i])));
  });
  return {};
}

// Output 0 = fn(input 0, input 1) for inputs of one shape, floating dtypes: what most elementwise gradients are.
template <class Fn>
Status ZipFloating(const ReferenceArgs& args, Fn fn) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T* a = args.inputs[0].data<T>();
    const T* b = args.inputs[1].data<T>();
    T* y = args.outputs[0].data<T>();
    const std::int64_t count = args.outputs[0].elements();
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(fn(static_cast<A>(a[i]), static_cast<A>(b[i])));
  });
  return {};
}

// Output 0 = fn(input 0, input 1), numpy broadcasting, numeric dtypes; see Combine for the arithmetic.
template <class Fn>
Status BroadcastNumeric(const ReferenceArgs& args, Fn fn) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  Tensor& out = args.outputs[0];
  ForNumeric(a.dtype(), [&]<class T>() {
    const T *pa = a.data<T>(), *pb = b.data<T>();
    T* y = out.data<T>();
    ForEachBroadcast(out.shape(), a.shape(), b.shape(),
                     [&](std::int64_t i, std::int64_t ia, std::int64_t ib) { y[i] = Combine(pa[ia], pb[ib], fn); });
  });
  return {};
}

// The two operands of an elementwise gradient (and of its output) must agree in shape.
inline Status InferSameShapes(InferContext& context) {
  for (int i = 1; i < context.num_inputs(); ++i) {
    TENON_INVALID_IF(!(context.shape(i) == context.shape(0)), "The shape of input {} ({}) is not that of input 0 ({}).",
                     i, context.shape(i), context.shape(0));
  }
  return InferSameAsFirst(context);
}

}  // namespace tenon

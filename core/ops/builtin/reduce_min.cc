// ReduceMin(X, axes): least value over axes, all of them when none are given; NaN wins. Of nothing it is inf, for integers
// the greatest value, for bool true. ONNX ReduceMin: axes are an attribute since opset 1, an input since opset 18.
#include <algorithm>
#include <limits>

#include "core/ops/reduction.h"

namespace tenon {
namespace {

template <class T>
T Greatest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(std::numeric_limits<float>::infinity());
  }
}

Status Min(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForAny(x.dtype(), [&]<class T>() {
    std::fill_n(y.data<T>(), y.elements(), Greatest<T>());
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      const T value = x.data<T>()[i];
      T& best = y.data<T>()[o];
      if (value < best || value != value) best = value;
    });
  });
  return {};
}

}  // namespace

void DefineOp_reduce_min(OpRegistry& ops) {
  DefineReduction(ops, "ReduceMin", kAllTypes, 18, Min, ShareAmongBest, LowPrecision::kFollows);
}

}  // namespace tenon

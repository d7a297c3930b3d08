// ReduceMax(X, axes): greatest value over axes, all of them when none are given; NaN wins. Of nothing it is -inf, for
// integers the least value, for bool false. ONNX ReduceMax: axes are an attribute since opset 1, an input since opset 18.
#include <algorithm>
#include <limits>

#include "core/ops/reduction.h"

namespace tenon {
namespace {

template <class T>
T Least() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

Status Max(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForAny(x.dtype(), [&]<class T>() {
    std::fill_n(y.data<T>(), y.elements(), Least<T>());
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      const T value = x.data<T>()[i];
      T& best = y.data<T>()[o];
      if (value > best || value != value) best = value;
    });
  });
  return {};
}

}  // namespace

void DefineOp_reduce_max(OpRegistry& ops) {
  DefineReduction(ops, "ReduceMax", kAllTypes, 18, Max, ShareAmongBest, LowPrecision::kFollows);
}

}  // namespace tenon

// ReduceSum(X, axes): sum over axes, all of them when none are given; an empty sum is 0. Integers wrap, 16-bit floats
// accumulate in float. ONNX ReduceSum: axes are an attribute since opset 1, an input since opset 13.
#include <vector>

#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tenon {
namespace {

Status Sum(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(y.elements()), A{0});
    const T* values = x.data<T>();
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      A& sum = sums[static_cast<std::size_t>(o)];
      sum = Combine(sum, static_cast<A>(values[i]), [](auto a, auto b) { return a + b; });
    });
    for (std::size_t o = 0; o < sums.size(); ++o) y.data<T>()[o] = static_cast<T>(sums[o]);
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = SpreadOverInput(b, args, args.output_grads[0]);
  return {};
}

}  // namespace

void DefineOp_reduce_sum(OpRegistry& ops) { DefineReduction(ops, "ReduceSum", kNumericTypes, 13, Sum, Gradient); }

}  // namespace tenon

// ReduceSum(X, axes): sum over axes, all of them when none are given; an empty sum is 0. Integers wrap, 16-bit floats
// accumulate in float. ONNX ReduceSum: axes are an attribute since opset 1, an input since opset 13.
#include "core/ops/reduction.h"

namespace tenon {
namespace {

Status Sum(const ReferenceArgs& args, const std::vector<int>& axes) {
  return FoldNumeric(args, axes, 0, [](auto a, auto b) { return a + b; });
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) args.input_grads[0] = SpreadOverInput(b, args, args.output_grads[0]);
  return {};
}

}  // namespace

void DefineOp_reduce_sum(OpRegistry& ops) { DefineReduction(ops, "ReduceSum", kNumericTypes, 13, Sum, Gradient); }

}  // namespace tenon

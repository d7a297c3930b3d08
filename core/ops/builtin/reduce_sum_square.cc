// ReduceSumSquare(X, axes) = sum of X * X over axes, all of them when none are given. Integers wrap. ONNX ReduceSumSquare:
// axes are an attribute since opset 1, an input since opset 18.
#include "core/ops/reduction.h"

namespace tenon {
namespace {

constexpr TypeSet kSumTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status SumSquare(const ReferenceArgs& args, const std::vector<int>& axes) {
  return FoldNumeric(args, axes, 0, [](auto a, auto b) { return a + b * b; });
}

// dX = 2 X dY
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value dy = KeptForm(b, args, args.output_grads[0]);
  args.input_grads[0] = b.Mul(args.inputs[0], b.Add(dy, dy));
  return {};
}

}  // namespace

void DefineOp_reduce_sum_square(OpRegistry& ops) {
  DefineReduction(ops, "ReduceSumSquare", kSumTypes, 18, SumSquare, Gradient);
}

}  // namespace tenon

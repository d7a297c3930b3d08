// ReduceProd(X, axes): product over axes, all of them when none are given; an empty product is 1. Integers wrap, 16-bit
// floats accumulate in float. ONNX ReduceProd: axes are an attribute since opset 1, an input since opset 18.
#include "core/ops/reduction.h"

namespace tenon {
namespace {

Status Product(const ReferenceArgs& args, const std::vector<int>& axes) {
  return FoldNumeric(args, axes, 1, [](auto a, auto b) { return a * b; });
}

// dX = dY times the product of the other elements.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0))
    args.input_grads[0] = b.TenonOp("ReduceProdGrad", {KeptForm(b, args, args.output_grads[0]), args.inputs[0]});
  return {};
}

}  // namespace

void DefineOp_reduce_prod(OpRegistry& ops) { DefineReduction(ops, "ReduceProd", kNumericTypes, 18, Product, Gradient); }

}  // namespace tenon

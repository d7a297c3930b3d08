// ReduceProd(X, axes): product over axes, all of them when none are given; an empty product is 1. Integers wrap, 16-bit
// floats accumulate in float. ONNX ReduceProd: axes are an attribute since opset 1, an input since opset 18.
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tenon {
namespace {

Status Product(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> products(static_cast<std::size_t>(y.elements()), A{1});
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      A& product = products[static_cast<std::size_t>(o)];
      product = Combine(product, static_cast<A>(x.data<T>()[i]), [](auto a, auto b) { return a * b; });
    });
    for (std::size_t o = 0; o < products.size(); ++o) y.data<T>()[o] = static_cast<T>(products[o]);
  });
  return {};
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

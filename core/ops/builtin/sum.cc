// Sum(X1, X2, ..) = X1 + X2 + .., elementwise with numpy broadcasting. ONNX Sum, since opset 8.
#include "core/ops/elementwise.h"
#include "core/ops/variadic.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    FoldVariadic<T>(
        args, [](auto a, auto b) { return a + b; }, [](auto sum) { return sum; });
  });
  return {};
}

// Every input gets dY, summed over what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.wants(i)) args.input_grads[i] = b.SumToShape(args.output_grads[0], b.type(args.inputs[i]).shape);
  }
  return {};
}

}  // namespace

void DefineOp_sum(OpRegistry& ops) {
  ops.Define("Sum")
      .Since(8)
      .VariadicInput("data_0", kFloatingTypes)
      .Output("result")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

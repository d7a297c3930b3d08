// Mean(X1, .., Xn) = (X1 + .. + Xn) / n, elementwise with numpy broadcasting. ONNX Mean, since opset 8.
#include "core/ops/elementwise.h"
#include "core/ops/variadic.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  const auto count = static_cast<double>(args.inputs.size());
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    FoldVariadic<T>(
        args, [](auto a, auto b) { return a + b; },
        [count](auto sum) { return sum / static_cast<decltype(sum)>(count); });
  });
  return {};
}

// Every input gets dY / n, summed over what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0];
  const Value share = b.Div(dy, b.ScalarLike(dy, static_cast<double>(args.inputs.size())));
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.wants(i)) args.input_grads[i] = b.SumToShape(share, b.type(args.inputs[i]).shape);
  }
  return {};
}

}  // namespace

void DefineOp_mean(OpRegistry& ops) {
  ops.Define("Mean")
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

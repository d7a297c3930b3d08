// Max(X1, X2, ..) = greatest of the inputs, elementwise with numpy broadcasting; NaN wins. ONNX Max, since opset 8.
#include "core/ops/elementwise.h"
#include "core/ops/variadic.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    FoldVariadic<T>(
        args, [](auto a, auto b) { return b > a || b != b ? b : a; }, [](auto best) { return best; });
  });
  return {};
}

// dY goes to the inputs that equal the result, shared evenly.
Status Gradient(GradBuilder& b, GradArgs& args) {
  std::vector<Value> inputs{args.output_grads[0], args.outputs[0]};
  inputs.insert(inputs.end(), args.inputs.begin(), args.inputs.end());
  const auto grads = b.Apply("tenon", "MaxGrad", inputs, {}, static_cast<int>(args.inputs.size()));
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.wants(i)) args.input_grads[i] = b.SumToShape(grads[i], b.type(args.inputs[i]).shape);
  }
  return {};
}

}  // namespace

void DefineOp_max(OpRegistry& ops) {
  ops.Define("Max")
      .Since(8)
      .VariadicInput("data_0", kNumericTypes)
      .Output("result")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

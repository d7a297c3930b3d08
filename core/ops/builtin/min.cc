// Min(X1, X2, ..) = least of the inputs, elementwise with numpy broadcasting; NaN wins. ONNX Min, since opset 8.
#include "core/ops/elementwise.h"
#include "core/ops/variadic.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    FoldVariadic<T>(
        args, [](auto a, auto b) { return b < a || b != b ? b : a; }, [](auto best) { return best; });
  });
  return {};
}

}  // namespace

void DefineOp_min(OpRegistry& ops) {
  ops.Define("Min")
      .Since(8)
      .VariadicInput("data_0", kNumericTypes)
      .Output("result")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferBroadcast)
      .Reference(Reference)
      .Gradient(ShareAmongEqual);
}

}  // namespace tenon

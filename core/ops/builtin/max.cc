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
      .Gradient(ShareAmongEqual);
}

}  // namespace tenon

// Identity(X) = X. ONNX Identity, since opset 1.
#include "core/ops/flops.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

Status Gradient(GradBuilder&, GradArgs& args) {
  args.input_grads[0] = args.output_grads[0];
  return {};
}

}  // namespace

void DefineOp_identity(OpRegistry& ops) {
  ops.Define("Identity")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Input("X", kAllTypes)
      .Output("Y")
      .Elementwise()
      .InPlace(0, 0)
      .ViewOfInput()
      .Infer(InferSameAsFirst)
      .Reference(CopyElements)
      .Gradient(Gradient);
}

}  // namespace tenon

// Flatten(X; axis = 1): X as a matrix [product of dims before axis, product of the rest]. ONNX Flatten, since opset 1.
#include "core/ops/flops.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  const std::int64_t given = context.attrs().Int("axis");
  TENON_INVALID_IF(given < -x.rank() || given > x.rank(),
                   "Flatten axis ({}) is outside [{}, {}] for an input of shape {}.", given, -x.rank(), x.rank(), x);
  const std::int64_t axis = given < 0 ? given + x.rank() : given;
  Dim rows = 1, columns = 1;
  for (int i = 0; i < x.rank(); ++i) (i < axis ? rows : columns) = (i < axis ? rows : columns) * x[i];
  context.SetOutput(0, context.dtype(0), SymShape{rows, columns});
  return {};
}

}  // namespace

void DefineOp_flatten(OpRegistry& ops) {
  ops.Define("Flatten")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Input("input", kAllTypes)
      .Output("output")
      .Attr("axis", 1)
      .InPlace(0, 0)
      .ViewOfInput()
      .Infer(Infer)
      .Reference(CopyElements)
      .Gradient(ReshapeBack);
}

}  // namespace tenon

// Squeeze(X, axes): X without the dimensions at `axes`, which must have extent 1; without axes, without all of extent 1.
// ONNX Squeeze, since opset 13 (axes as input).
#include <algorithm>

#include "core/ops/view.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  std::vector<int> axes;
  if (context.has_input(1)) {
    TENON_ASSIGN(const auto given, context.ConstantInts(1));
    for (const std::int64_t item : given) {
      TENON_ASSIGN(const int axis, NormalizeAxis(item, x.rank()));
      TENON_INVALID_IF(!x[axis].Is(1), "Squeeze removes axis {} of {}, but its extent is {}, not 1.", item, x, x[axis]);
      axes.push_back(axis);
    }
  } else {
    TENON_INVALID_IF(!x.known(), "Squeeze without axes needs known dims; the input has shape {}.", x);
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x[axis].Is(1)) axes.push_back(axis);
    }
  }
  SymShape out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) out.push_back(x[axis]);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

}  // namespace

void DefineOp_squeeze(OpRegistry& ops) {
  ops.Define("Squeeze")
      .Since(13)
      .Input("data", kAllTypes)
      .OptionalInput("axes", {DType::kI64}, "axes")
      .Output("squeezed")
      .InPlace(0, 0)
      .ViewOfInput()
      .Infer(Infer)
      .Reference(CopyElements)
      .Gradient(ReshapeBack);
}

}  // namespace tenon

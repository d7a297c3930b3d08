// Squeeze(X, axes): X without the dimensions at `axes`, which must have extent 1; without axes, without all of extent 1.
// ONNX Squeeze: axes are an attribute since opset 1, an input since opset 13.
#include <algorithm>
#include <optional>

#include "core/ops/flops.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

Status InferWithout(InferContext& context, const std::optional<std::vector<std::int64_t>>& given) {
  const SymShape& x = context.shape(0);
  std::vector<int> axes;
  if (given) {
    for (const std::int64_t item : *given) {
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

Status InferAttribute(InferContext& context) {
  std::optional<std::vector<std::int64_t>> axes;
  if (context.attrs().Has("axes")) axes = context.attrs().Ints("axes");
  return InferWithout(context, axes);
}

Status InferInput(InferContext& context) {
  std::optional<std::vector<std::int64_t>> axes;
  if (context.has_input(1)) {
    TENON_ASSIGN(axes, context.ConstantInts(1));
  }
  return InferWithout(context, axes);
}

}  // namespace

void DefineOp_squeeze(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("Squeeze")
        .Flops(NoFlops)
        .InLowPrecision(LowPrecision::kMovesOnly)
        .Since(since)
        .Input("data", kAllTypes)
        .Output("squeezed")
        .InPlace(0, 0)
        .ViewOfInput()
        .Reference(CopyElements)
        .Gradient(ReshapeBack);
  };
  define(1).OptionalAttr("axes", AttrType::kInts).Infer(InferAttribute);
  define(13).OptionalInput("axes", {DType::kI64}, "axes").Infer(InferInput);
}

}  // namespace tenon

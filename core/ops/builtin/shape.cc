// Shape(X; start, end) -> int64: the extents of X from axis start (0) up to and without axis end (the rank); negative ones
// count from the end, both are clamped. ONNX Shape, since opset 1; start and end since opset 15.
#include <algorithm>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

struct AxisRange {
  int first = 0, count = 0;
};

AxisRange RangeOf(const Attributes& attrs, int rank) {
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t first = clamp(attrs.Int("start", 0)), end = clamp(attrs.Int("end", rank));
  return {static_cast<int>(first), static_cast<int>(std::max<std::int64_t>(end - first, 0))};
}

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kI64, SymShape{Dim(RangeOf(context.attrs(), context.shape(0).rank()).count)});
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Shape& x = args.inputs[0].shape();
  const AxisRange range = RangeOf(args.attrs, x.rank());
  for (int i = 0; i < range.count; ++i) args.outputs[0].data<std::int64_t>()[i] = x[range.first + i];
  return {};
}

}  // namespace

void DefineOp_shape(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("Shape")
        .Flops(NoFlops)
        .Since(since)
        .Input("data", kAllTypes)
        .Output("shape")
        .FromShapes()
        .NoGradient()
        .Infer(Infer)
        .Reference(Reference);
  };
  define(1);
  define(15).Attr("start", 0).OptionalAttr("end", AttrType::kInt);
}

}  // namespace tenon

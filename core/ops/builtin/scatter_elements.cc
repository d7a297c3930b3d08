// ScatterElements(X, indices, updates; axis = 0, reduction = none): X in which every element of updates is put at its own
// position with the coordinate along axis replaced by the index; `reduction` joins it with what is there. Updates of one
// place come in row-major order. ONNX ScatterElements, since opset 11; add and mul since opset 16, max and min since 18.
#include "core/ops/element_index.h"
#include "core/ops/scatter.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

constexpr const char* kName = "ScatterElements";

Status Infer(InferContext& context, bool join_extremes) {
  TENON_TRY(CheckScatterJoin(context, kName, join_extremes));
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), context.shape(0).rank()));
  TENON_TRY(CheckElementIndices(kName, context.shape(1), context.shape(0), axis));
  TENON_INVALID_IF(!(context.shape(1) == context.shape(2)), "ScatterElements has indices {}, but updates {}.",
                   context.shape(1), context.shape(2));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  TENON_TRY(CopyElements(args));
  Tensor& y = args.outputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), y.shape().rank()));
  const ScatterJoin join = *ScatterJoinOf(args.attrs);
  Status status;
  ForAny(y.dtype(), [&]<class T>() {
    const T* updates = args.inputs[2].data<T>();
    status = ForEachElementIndex(kName, args.inputs[1], y.shape(), axis, [&](std::int64_t i, std::int64_t at) {
      T& element = y.data<T>()[at];
      element = Joined(element, updates[i], join);
    });
  });
  return status;
}

// X gets dY, but 0 where it was replaced; an update gets the dY of its place (every one of several, where they replace).
Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_TRY(CheckScatterGradient(args.attrs, kName));
  const Value dy = args.output_grads[0], indices = args.inputs[1];
  const bool replaces = ScatterJoinOf(args.attrs) == ScatterJoin::kNone;
  const Attributes axis = {{"axis", args.attrs.Int("axis")}};
  if (args.wants(0))
    args.input_grads[0] = replaces ? b.Op(kName, {dy, indices, ZerosLike(b, args.inputs[2])}, axis) : dy;
  if (args.wants(2)) args.input_grads[2] = b.Op("GatherElements", {dy, indices}, axis);
  return {};
}

}  // namespace

void DefineOp_scatter_elements(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define(kName)
        .Since(since)
        .Input("data", kAllTypes)
        .Input("indices", kIndexTypes, "Tind")
        .Input("updates", kAllTypes)
        .Output("output")
        .Attr("axis", 0)
        .InPlace(0, 0)
        .Infer([since](InferContext& context) { return Infer(context, since >= 18); })
        .Reference(Reference)
        .Gradient(Gradient);
  };
  define(11);
  define(16).Attr("reduction", "none");
  define(18).Attr("reduction", "none");
}

}  // namespace tenon

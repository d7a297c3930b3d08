// ScatterND(X, indices, updates; reduction = none): X in which the slices that the tuples in the last dim of indices name
// are replaced by those of updates, or joined with them. Updates of one slice come in order. ONNX ScatterND, since opset 11;
// add and mul since opset 16, max and min since opset 18.
#include "core/ops/scatter.h"
#include "core/ops/tuple_index.h"
#include "core/ops/view.h"

namespace tenon {
namespace {

constexpr const char* kName = "ScatterND";

Status Infer(InferContext& context, bool join_extremes) {
  TENON_TRY(CheckScatterJoin(context, kName, join_extremes));
  TENON_ASSIGN(const SymShape slices, TupleSlices(kName, context.shape(1), context.shape(0), 0));
  TENON_INVALID_IF(!(context.shape(2) == slices), "ScatterND of {} by indices {} needs updates {}; they have shape {}.",
                   context.shape(0), context.shape(1), slices, context.shape(2));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  TENON_TRY(CopyElements(args));
  Tensor& y = args.outputs[0];
  TENON_ASSIGN(const TuplePlan plan, TuplePlanOf(kName, args.inputs[1], y.shape(), 0));
  const ScatterJoin join = *ScatterJoinOf(args.attrs);
  ForAny(y.dtype(), [&]<class T>() {
    const T* update = args.inputs[2].data<T>();
    for (const std::int64_t start : plan.starts) {
      for (std::int64_t i = 0; i < plan.slice; ++i, ++update) {
        T& element = y.data<T>()[start + i];
        element = Joined(element, *update, join);
      }
    }
  });
  return {};
}

// X gets dY, but 0 where it was replaced; an update gets the dY of its slice (every one of several, where they replace).
Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_TRY(CheckScatterGradient(args.attrs, kName));
  const Value dy = args.output_grads[0], indices = args.inputs[1];
  const bool replaces = ScatterJoinOf(args.attrs) == ScatterJoin::kNone;
  if (args.wants(0)) args.input_grads[0] = replaces ? b.Op(kName, {dy, indices, ZerosLike(b, args.inputs[2])}) : dy;
  if (args.wants(2)) args.input_grads[2] = b.Op("GatherND", {dy, indices});
  return {};
}

}  // namespace

void DefineOp_scatter_nd(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define(kName)
        .Since(since)
        .Input("data", kAllTypes)
        .Input("indices", {DType::kI64}, "indices")
        .Input("updates", kAllTypes)
        .Output("output")
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

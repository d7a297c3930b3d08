// tenon.ClipGrad(dY, X, min, max) = dY where min <= X <= max, else 0; NaN in X lets dY through. X is the input of Clip.
#include "core/ops/clip.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckClipBounds(context, 2));
  TENON_INVALID_IF(!(context.shape(0) == context.shape(1)), "dY has shape {}, but X has {}.", context.shape(0),
                   context.shape(1));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    const ClipBounds<T> bounds = ClipBoundsOf<T>(args, 2);
    const T *dy = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>();
    for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) {
      const bool cut = (bounds.min && x[i] < *bounds.min) || (bounds.max && x[i] > *bounds.max);
      args.outputs[0].data<T>()[i] = cut ? T(0) : dy[i];
    }
  });
  return {};
}

// Linear in dY with the same mask.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("ClipGrad", {args.output_grads[0], args.inputs[1], optional(2), optional(3)});
  }
  return {};
}

}  // namespace

void DefineOp_clip_grad(OpRegistry& ops) {
  ops.DefineTenon("ClipGrad")
      .Input("dY", kFloatingTypes)
      .Input("X", kFloatingTypes)
      .OptionalInput("min", kFloatingTypes)
      .OptionalInput("max", kFloatingTypes)
      .Output("dX")
      .Elementwise()
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

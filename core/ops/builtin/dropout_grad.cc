// tenon.DropoutGrad(dY, mask, ratio, training_mode) = dY / (1 - ratio) where mask, else 0; in inference dY. The mask and the
// two scalars are those of the Dropout node.
#include "core/ops/dropout.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_TRY(CheckDropoutScalars(context, 2));
  TENON_INVALID_IF(!(context.shape(1) == context.shape(0)), "mask has shape {}, but dY has {}.", context.shape(1),
                   context.shape(0));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const DropoutMode mode, DropoutModeOf(args, 2));
  const bool* mask = args.inputs[1].data<bool>();
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T* dy = args.inputs[0].data<T>();
    for (std::int64_t i = 0; i < args.inputs[0].elements(); ++i) {
      args.outputs[0].data<T>()[i] =
          mask[i] ? static_cast<T>(static_cast<A>(dy[i]) * static_cast<A>(mode.scale())) : T(0);
    }
  });
  return {};
}

// Linear in dY with the same mask.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("DropoutGrad", {args.output_grads[0], args.inputs[1], optional(2), optional(3)});
  }
  return {};
}

}  // namespace

void DefineOp_dropout_grad(OpRegistry& ops) {
  ops.DefineTenon("DropoutGrad")
      .Input("dY", kFloatingTypes)
      .Input("mask", kBoolType, "mask")
      .OptionalInput("ratio", kFloatingTypes, "T1")
      .OptionalInput("training_mode", kBoolType, "T2")
      .Output("dX")
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

// Clip(X, min, max) = X where min <= X <= max, else the nearer bound; max wins when min > max; NaN stays NaN. Absent bounds
// do not bind. ONNX Clip: bounds are attributes since opset 6, inputs since opset 11.
#include "core/ops/clip.h"
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

template <class T>
void Bound(const Tensor& x, const ClipBounds<T>& bounds, Tensor& y) {
  const T* from = x.data<T>();
  T* to = y.data<T>();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    T value = from[i];
    if (bounds.min && value < *bounds.min) value = *bounds.min;  // false for NaN
    if (bounds.max && value > *bounds.max) value = *bounds.max;
    to[i] = value;
  }
}

Status FromInputs(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(),
             [&]<class T>() { Bound<T>(args.inputs[0], ClipBoundsOf<T>(args, 1), args.outputs[0]); });
  return {};
}

Status FromAttributes(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    ClipBounds<T> bounds;
    if (args.attrs.Has("min")) bounds.min = static_cast<T>(static_cast<float>(args.attrs.Float("min")));
    if (args.attrs.Has("max")) bounds.max = static_cast<T>(static_cast<float>(args.attrs.Float("max")));
    Bound<T>(args.inputs[0], bounds, args.outputs[0]);
  });
  return {};
}

// dX = dY where min <= X <= max, else 0.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("ClipGrad", {args.output_grads[0], args.inputs[0], optional(1), optional(2)});
  }
  return {};
}

Status GradientFromAttributes(GradBuilder& b, GradArgs& args) {
  const auto bound = [&](const char* name) {
    return args.attrs.Has(name) ? b.ScalarLike(args.inputs[0], args.attrs.Float(name)) : Value{};
  };
  if (args.wants(0)) {
    args.input_grads[0] = b.TenonOp("ClipGrad", {args.output_grads[0], args.inputs[0], bound("min"), bound("max")});
  }
  return {};
}

Status Infer(InferContext& context) {
  TENON_TRY(CheckClipBounds(context, 1));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

}  // namespace

void DefineOp_clip(OpRegistry& ops) {
  ops.Define("Clip")
      .Since(6)
      .Input("input", kFloatingTypes)
      .Output("output")
      .OptionalAttr("min", AttrType::kFloat)
      .OptionalAttr("max", AttrType::kFloat)
      .Elementwise()
      .InPlace(0, 0)
      .Infer(InferSameAsFirst)
      .Reference(FromAttributes)
      .Gradient(GradientFromAttributes);
  ops.Define("Clip")
      .Since(11)
      .Input("input", kNumericTypes)
      .OptionalInput("min", kNumericTypes)
      .OptionalInput("max", kNumericTypes)
      .Output("output")
      .Elementwise()
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(FromInputs)
      .Gradient(Gradient);
}

}  // namespace tenon

// LayerNormalization(X, Scale, B; axis = -1) -> Y, Mean, InvStdDev: over all dims from axis on, Y = (X - Mean) * InvStdDev *
// Scale + B with InvStdDev = 1 / sqrt(variance + epsilon), population variance. Scale and B have the normalised dims; Mean
// and InvStdDev have 1 in their place and are float (double for double X). ONNX LayerNormalization, since opset 17. Source:
// Ba, Kiros and Hinton 2016.
#include <cmath>

#include "core/ops/layer_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  const SymShape normalized(x.dims().subspan(static_cast<std::size_t>(axis)));
  for (int i = 1; i < 3; ++i) {
    TENON_INVALID_IF(context.has_input(i) && !(context.shape(i) == normalized),
                     "LayerNormalization {} has shape {}; X {} from axis {} on needs {}.", i == 1 ? "Scale" : "B",
                     context.shape(i), x, axis, normalized);
  }
  SymShape rows = x;
  for (int i = axis; i < x.rank(); ++i) rows.set_dim(i, 1);
  const DType saved = context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  context.SetOutput(0, context.dtype(0), x);
  context.SetOutput(1, saved, rows);
  context.SetOutput(2, saved, rows);
  return {};
}

template <class T>
void Normalize(const ReferenceArgs& args, const LayerRows& rows, double epsilon) {
  using A = Accumulator<T>;
  using Saved = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T *x = args.inputs[0].data<T>(), *scale = args.inputs[1].data<T>();
  const T* bias = args.has(2) ? args.inputs[2].data<T>() : nullptr;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const T* row = x + r * rows.extent;
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < rows.extent; ++i) sum += static_cast<double>(row[i]);
    const double mean = sum / static_cast<double>(rows.extent);
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      squares += (static_cast<double>(row[i]) - mean) * (static_cast<double>(row[i]) - mean);
    }
    const double inv_std = 1.0 / std::sqrt(squares / static_cast<double>(rows.extent) + epsilon);
    for (std::int64_t i = 0; i < rows.extent; ++i) {
      const double y = (static_cast<double>(row[i]) - mean) * inv_std * static_cast<double>(scale[i]) +
                       (bias ? static_cast<double>(bias[i]) : 0.0);
      args.outputs[0].data<T>()[r * rows.extent + i] = static_cast<T>(static_cast<A>(y));
    }
    if (args.wants(1)) args.outputs[1].data<Saved>()[r] = static_cast<Saved>(mean);
    if (args.wants(2)) args.outputs[2].data<Saved>()[r] = static_cast<Saved>(inv_std);
  }
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const LayerRows rows, LayerRowsOf(args.attrs, args.inputs[0].shape()));
  const double epsilon = args.attrs.Float("epsilon");
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Normalize<T>(args, rows, epsilon); });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  TENON_INVALID_IF(args.outputs.size() < 3 || !args.outputs[1] || !args.outputs[2],
                   "The gradient of LayerNormalization needs its outputs Mean and InvStdDev.");
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1], args.outputs[1], args.outputs[2]};
  const auto grads = b.Apply("tenon", "LayerNormalizationGrad", inputs, {{"axis", args.attrs.Int("axis")}}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_layer_normalization(OpRegistry& ops) {
  ops.Define("LayerNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(17)
      .Input("X", kFloatingTypes)
      .Input("Scale", kFloatingTypes)
      .OptionalInput("B", kFloatingTypes)
      .Output("Y")
      .OptionalOutput("Mean")
      .OptionalOutput("InvStdDev")
      .SavedForGradient(1)
      .SavedForGradient(2)
      .Attr("axis", -1)
      .Attr("epsilon", 1e-5)
      .Attr("stash_type", 1)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

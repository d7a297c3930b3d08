// InstanceNormalization(X, scale, B) on X [N, C, D1 ..]: Y = (X - mean) / sqrt(variance + epsilon) * scale + B with mean and
// population variance over D1 .. of one channel of one sample; scale and B are [C]. ONNX InstanceNormalization, since
// opset 6. Source: Ulyanov, Vedaldi and Lempitsky 2016.
#include <algorithm>

#include "core/ops/group_norm.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(x.rank() < 3, "InstanceNormalization X has shape {}; it needs [N, C, D1 ..].", x);
  TENON_TRY(CheckGroups(context, 0, 1, 1, x[1]));
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Shape& x = args.inputs[0].shape();
  ForFloating(args.inputs[0].dtype(),
              [&]<class T>() { NormalizeGroups<T>(args, GroupLayoutOf(x, x[1]), args.attrs.Float("epsilon"), false); });
  return {};
}

// That of GroupNormalization with one channel a group.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const SymShape& x = b.type(args.inputs[0]).shape;
  TENON_INVALID_IF(!x[1].known(), "The gradient of InstanceNormalization needs known channels; X has shape {}.", x);
  const Attributes attrs = {{"num_groups", std::max<std::int64_t>(x[1].value(), 1)},
                            {"epsilon", args.attrs.Float("epsilon")}};
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1]};
  const auto grads = b.Apply("tenon", "GroupNormalizationGrad", inputs, attrs, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_instance_normalization(OpRegistry& ops) {
  ops.Define("InstanceNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(6)
      .Input("input", kFloatingTypes)
      .Input("scale", kFloatingTypes)
      .Input("B", kFloatingTypes)
      .Output("output")
      .Attr("epsilon", 1e-5)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

// GroupNormalization(X, scale, bias; num_groups) on X [N, C, D1 ..]: Y = (X - mean) / sqrt(variance + epsilon) * scale + bias
// with mean and population variance over the channels of a group and D1 .. of one sample; scale and bias are [C]. ONNX
// GroupNormalization: since opset 21; since opset 18 with scale and bias [num_groups]. Source: Wu and He 2018.
#include "core/ops/group_norm.h"

namespace tenon {
namespace {

Status InferWith(InferContext& context, bool scale_per_group) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(x.rank() < 2, "GroupNormalization X has shape {}; it needs [N, C, D1 ..].", x);
  const std::int64_t groups = context.attrs().Int("num_groups");
  TENON_TRY(CheckGroups(context, 0, 1, groups, scale_per_group ? Dim(groups) : x[1]));
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status ReferenceWith(const ReferenceArgs& args, bool scale_per_group) {
  const GroupLayout layout = GroupLayoutOf(args.inputs[0].shape(), args.attrs.Int("num_groups"));
  ForFloating(args.inputs[0].dtype(),
              [&]<class T>() { NormalizeGroups<T>(args, layout, args.attrs.Float("epsilon"), scale_per_group); });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1]};
  const auto grads =
      b.Apply("tenon", "GroupNormalizationGrad", inputs,
              {{"num_groups", args.attrs.Int("num_groups")}, {"epsilon", args.attrs.Float("epsilon")}}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

OpDef& Define(OpRegistry& ops, int since) {
  return ops.Define("GroupNormalization")
      .InLowPrecision(LowPrecision::kNormalizes)
      .Since(since)
      .Input("X", kFloatingTypes)
      .Input("scale", kFloatingTypes)
      .Input("bias", kFloatingTypes)
      .Output("Y")
      .RequiredAttr("num_groups", AttrType::kInt)
      .Attr("epsilon", 1e-5);
}

}  // namespace

void DefineOp_group_normalization(OpRegistry& ops) {
  Define(ops, 18)
      .Infer([](InferContext& context) { return InferWith(context, true); })
      .Reference([](const ReferenceArgs& args) { return ReferenceWith(args, true); });
  Define(ops, 21)
      .Attr("stash_type", 1)
      .Infer([](InferContext& context) { return InferWith(context, false); })
      .Reference([](const ReferenceArgs& args) { return ReferenceWith(args, false); })
      .Gradient(Gradient);
}

}  // namespace tenon

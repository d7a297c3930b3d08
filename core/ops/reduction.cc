#include "core/ops/reduction.h"

#include <algorithm>

namespace tenon {

Result<std::vector<int>> ReductionAxes(const std::vector<std::int64_t>& axes, bool noop_with_empty_axes, int rank) {
  std::vector<int> out;
  if (axes.empty() && !noop_with_empty_axes) {
    for (int axis = 0; axis < rank; ++axis) out.push_back(axis);
  }
  for (const std::int64_t given : axes) {
    TENON_ASSIGN(const int axis, NormalizeAxis(given, rank));
    TENON_INVALID_IF(std::find(out.begin(), out.end(), axis) != out.end(), "Axis ({}) is listed twice in axes [{}].",
                     given, fmt::join(axes, ","));
    out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<int>> ReductionAxesOf(const InferContext& context, bool axes_are_input) {
  const Attributes& attrs = context.attrs();
  const int rank = context.shape(0).rank();
  if (!axes_are_input) return ReductionAxes(attrs.Ints("axes", {}), false, rank);
  std::vector<std::int64_t> axes;
  if (context.has_input(1)) {
    TENON_ASSIGN(axes, context.ConstantInts(1));
  }
  return ReductionAxes(axes, attrs.Int("noop_with_empty_axes") != 0, rank);
}

Result<std::vector<int>> ReductionAxesOf(const ReferenceArgs& args, bool axes_are_input) {
  const int rank = args.inputs[0].shape().rank();
  if (!axes_are_input) return ReductionAxes(args.attrs.Ints("axes", {}), false, rank);
  std::vector<std::int64_t> axes;
  if (args.has(1)) {
    const auto values = args.inputs[1].values<std::int64_t>();
    axes.assign(values.begin(), values.end());
  }
  return ReductionAxes(axes, args.attrs.Int("noop_with_empty_axes") != 0, rank);
}

Status InferReduction(InferContext& context, bool axes_are_input) {
  TENON_ASSIGN(const std::vector<int> axes, ReductionAxesOf(context, axes_are_input));
  const bool keep = context.attrs().Int("keepdims") != 0;
  SymShape out;
  for (int axis = 0; axis < context.shape(0).rank(); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
    if (!reduced) {
      out.push_back(context.shape(0)[axis]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Shape KeptShape(const Shape& shape, const std::vector<int>& axes) {
  Shape kept = shape;
  for (const int axis : axes) kept.set_dim(axis, 1);
  return kept;
}

void DefineReduction(OpRegistry& ops, const char* type, TypeSet types, int axes_input_since, ReduceFn reduce,
                     GradientFn gradient, LowPrecision effect) {
  const auto define = [&](int since, bool axes_are_input) -> OpDef& {
    return ops.Define(type)
        .Since(since)
        .InLowPrecision(effect)
        .Input("data", types)
        .Output("reduced")
        .Attr("keepdims", 1)
        .Infer([axes_are_input](InferContext& context) { return InferReduction(context, axes_are_input); })
        .Reference([axes_are_input, reduce](const ReferenceArgs& args) -> Status {
          TENON_ASSIGN(const std::vector<int> axes, ReductionAxesOf(args, axes_are_input));
          return reduce(args, axes);
        })
        .Gradient(gradient);
  };
  define(1, false).OptionalAttr("axes", AttrType::kInts);
  define(axes_input_since, true).OptionalInput("axes", {DType::kI64}, "axes").Attr("noop_with_empty_axes", 0);
}

Value KeptForm(GradBuilder& builder, const GradArgs& args, Value value) {
  const int input = builder.type(args.inputs[0]).shape.rank();
  const int output = builder.type(args.outputs[0]).shape.rank();
  if (output == input) return value;
  if (output == 0)
    return builder.ReshapeTo(value, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(input), 1)));
  const bool axes_are_input = args.inputs.size() > 1 && args.inputs[1];
  const Value axes = axes_are_input ? args.inputs[1] : builder.Ints(args.attrs.Ints("axes", {}));
  return builder.Op("Unsqueeze", {value, axes});
}

Value SpreadOverInput(GradBuilder& builder, const GradArgs& args, Value value) {
  const bool scalar = builder.type(args.outputs[0]).shape.rank() == 0;
  const Value kept = scalar ? value : KeptForm(builder, args, value);
  const Shape shape = builder.type(args.inputs[0]).shape.Concrete();
  return builder.Op("Expand", {kept, builder.Ints(shape.dims())});
}

Status ShareAmongBest(GradBuilder& builder, GradArgs& args) {
  if (!args.wants(0)) return {};
  args.input_grads[0] = builder.TenonOp("ReduceMaxGrad", {KeptForm(builder, args, args.output_grads[0]), args.inputs[0],
                                                          KeptForm(builder, args, args.outputs[0])});
  return {};
}

}  // namespace tenon

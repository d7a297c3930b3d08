// OneHot(indices, depth, values = [off, on]; axis = -1): a new axis of extent depth, on at the index and off elsewhere; an
// index outside [-depth, depth) is off everywhere. ONNX OneHot, since opset 9; negative indices since opset 11.
#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& indices = context.shape(0);
  TENON_INVALID_IF(indices.rank() >= kMaxRank, "OneHot of {}: the rank is at the limit ({}).", indices, kMaxRank);
  TENON_INVALID_IF(!context.shape(1).Elements().Is(1), "OneHot depth is one number; it has shape {}.",
                   context.shape(1));
  TENON_INVALID_IF(!(context.shape(2) == SymShape{2}), "OneHot needs two values, [off, on]; they have shape {}.",
                   context.shape(2));
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), indices.rank() + 1));
  Dim depth = Dim::Unknown();
  if (context.constant(1) != nullptr) {
    TENON_ASSIGN(const auto given, context.ConstantInts(1));
    TENON_INVALID_IF(given[0] < 0, "OneHot has a negative depth ({}).", given[0]);
    depth = given[0];
  }
  SymShape out;
  for (int i = 0; i <= indices.rank(); ++i) out.push_back(i == axis ? depth : indices[i < axis ? i : i - 1]);
  context.SetOutput(0, context.dtype(2), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& y = args.outputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), y.shape().rank()));
  const Tensor indices = Cast(args.inputs[0], DType::kI64);
  const std::int64_t depth = y.shape()[axis];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < y.shape().rank(); ++i) inner *= y.shape()[i];
  ForAny(y.dtype(), [&]<class T>() {
    const T off = args.inputs[2].data<T>()[0], on = args.inputs[2].data<T>()[1];
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t position = i / inner % depth;
      const std::int64_t index = indices.data<std::int64_t>()[i / (inner * depth) * inner + i % inner];
      y.data<T>()[i] = (index < 0 ? index + depth : index) == position ? on : off;
    }
  });
  return {};
}

// Off and on get the sums of dY over their places.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(2)) return {};
  const Value dy = args.output_grads[0];
  const DType dtype = b.type(dy).dtype;
  const auto places = [&](double off, double on) {
    const double marks[] = {off, on};
    const Value values = b.Constant(Cast(Tensor::Of<double>(Shape{2}, std::span<const double>(marks)), dtype));
    const Value mask = b.Op("OneHot", {args.inputs[0], args.inputs[1], values}, {{"axis", args.attrs.Int("axis")}});
    return b.ReshapeTo(b.Op("ReduceSum", {b.Mul(dy, mask)}, {{"keepdims", std::int64_t{0}}}), Shape{1});
  };
  args.input_grads[2] = b.Op("Concat", {places(1, 0), places(0, 1)}, {{"axis", std::int64_t{0}}});
  return {};
}

}  // namespace

void DefineOp_one_hot(OpRegistry& ops) {
  ops.Define("OneHot")
      .Since(9)
      .Input("indices", kNumericTypes, "T1")
      .Input("depth", kNumericTypes, "T2")
      .Input("values", kAllTypes, "T3")
      .Output("output")
      .Attr("axis", -1)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

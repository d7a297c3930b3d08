// GatherElements(X, indices; axis = 0): for every element of indices the element of X at the same position with the
// coordinate along axis replaced by the index; a negative index counts from the end. ONNX GatherElements, since opset 11.
#include <cstring>

#include "core/ops/element_index.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), context.shape(0).rank()));
  TENON_TRY(CheckElementIndices("GatherElements", context.shape(1), context.shape(0), axis));
  context.SetOutput(0, context.dtype(0), context.shape(1));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), x.shape().rank()));
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(args.outputs[0].raw());
  return ForEachElementIndex("GatherElements", args.inputs[1], x.shape(), axis, [&](std::int64_t i, std::int64_t at) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(at) * size, size);
  });
}

// dX = dY added to the elements it came from.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp(
      "GatherElementsGrad", {args.output_grads[0], args.inputs[1]},
      {{"axis", args.attrs.Int("axis")}, {"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_gather_elements(OpRegistry& ops) {
  ops.Define("GatherElements")
      .Since(11)
      .Input("data", kAllTypes)
      .Input("indices", kIndexTypes, "Tind")
      .Output("output")
      .Attr("axis", 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

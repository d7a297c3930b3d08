// Gather(X, indices; axis = 0): the slices of X along axis that the indices name; a negative index counts from the end. The
// output has the shape of X with `axis` replaced by the shape of indices. ONNX Gather, since opset 1.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/gather.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape &x = context.shape(0), &indices = context.shape(1);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  TENON_INVALID_IF(x.rank() - 1 + indices.rank() > kMaxRank,
                   "Gather of {} by indices {}: the rank is above the limit ({}).", x, indices, kMaxRank);
  SymShape out;
  for (int i = 0; i < axis; ++i) out.push_back(x[i]);
  for (const Dim dim : indices.dims()) out.push_back(dim);
  for (int i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const GatherPlan plan, GatherPlanOf(args.attrs, x.shape(), args.inputs[1]));
  const auto bytes = static_cast<std::size_t>(plan.inner * SizeOf(x.dtype()));
  if (bytes == 0) return {};
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(args.outputs[0].raw());
  for (std::int64_t o = 0; o < plan.outer; ++o) {
    for (const std::int64_t index : plan.indices) {
      std::memcpy(to, from + static_cast<std::size_t>(o * plan.extent + index) * bytes, bytes);
      to += bytes;
    }
  }
  return {};
}

// dX = dY added to the slices it came from.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp(
      "GatherGrad", {args.output_grads[0], args.inputs[1]},
      {{"axis", args.attrs.Int("axis")}, {"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_gather(OpRegistry& ops) {
  ops.Define("Gather")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Input("data", kAllTypes)
      .Input("indices", kIndexTypes, "Tind")
      .Output("output")
      .Attr("axis", 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

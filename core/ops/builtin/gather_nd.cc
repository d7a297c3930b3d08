// GatherND(X, indices; batch_dims = 0): the slices of X that the tuples in the last dim of indices name; the first
// batch_dims dims of both run together. A negative index counts from the end. ONNX GatherND, since opset 11; batch_dims
// since opset 12.
#include <cstring>

#include "core/ops/tuple_index.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const std::int64_t batch = context.attrs().Int("batch_dims", 0);
  TENON_ASSIGN(const SymShape out, TupleSlices("GatherND", context.shape(1), context.shape(0), batch));
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const TuplePlan plan,
               TuplePlanOf("GatherND", args.inputs[1], x.shape(), args.attrs.Int("batch_dims", 0)));
  const auto size = static_cast<std::size_t>(SizeOf(x.dtype()));
  const auto bytes = static_cast<std::size_t>(plan.slice) * size;
  auto* to = static_cast<char*>(args.outputs[0].raw());
  for (const std::int64_t start : plan.starts) {
    if (bytes > 0) std::memcpy(to, static_cast<const char*>(x.raw()) + static_cast<std::size_t>(start) * size, bytes);
    to += bytes;
  }
  return {};
}

// dX = dY added to the slices it came from.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp("GatherNDGrad", {args.output_grads[0], args.inputs[1]},
                                  {{"batch_dims", args.attrs.Int("batch_dims", 0)},
                                   {"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_gather_nd(OpRegistry& ops) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define("GatherND")
        .Since(since)
        .Input("data", kAllTypes)
        .Input("indices", {DType::kI64}, "indices")
        .Output("output")
        .Infer(Infer)
        .Reference(Reference)
        .Gradient(Gradient);
  };
  define(11);
  define(12).Attr("batch_dims", 0);
}

}  // namespace tenon

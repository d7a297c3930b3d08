// tenon.GatherNDGrad(dY, indices; batch_dims, x_shape) -> dX: zeros to which every slice of dY is added where GatherND took
// it from.
#include "core/ops/tuple_index.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_ASSIGN(const SymShape slices,
               TupleSlices("GatherNDGrad", context.shape(1), x, context.attrs().Int("batch_dims")));
  TENON_INVALID_IF(!(context.shape(0) == slices), "dY has shape {}; the gather gives {}.", context.shape(0), slices);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const TuplePlan plan,
               TuplePlanOf("GatherNDGrad", args.inputs[1], dx.shape(), args.attrs.Int("batch_dims")));
  ForFloating(dx.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
    const T* dy = args.inputs[0].data<T>();
    for (const std::int64_t start : plan.starts) {
      for (std::int64_t i = 0; i < plan.slice; ++i) sums[static_cast<std::size_t>(start + i)] += static_cast<A>(*dy++);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same slices of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] =
        b.Op("GatherND", {args.output_grads[0], args.inputs[1]}, {{"batch_dims", args.attrs.Int("batch_dims")}});
  }
  return {};
}

}  // namespace

void DefineOp_gather_nd_grad(OpRegistry& ops) {
  ops.DefineTenon("GatherNDGrad")
      .Input("dY", kFloatingTypes)
      .Input("indices", {DType::kI64}, "indices")
      .Output("dX")
      .Attr("batch_dims", 0)
      .RequiredAttr("x_shape", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

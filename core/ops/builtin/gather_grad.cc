// tenon.GatherGrad(dY, indices; axis, x_shape) -> dX: zeros to which every slice of dY is added where Gather took it from.
#include "core/ops/gather.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  SymShape expected;
  for (int i = 0; i < axis; ++i) expected.push_back(x[i]);
  for (const Dim dim : context.shape(1).dims()) expected.push_back(dim);
  for (int i = axis + 1; i < x.rank(); ++i) expected.push_back(x[i]);
  TENON_INVALID_IF(!(context.shape(0) == expected), "dY has shape {}; the gather gives {}.", context.shape(0),
                   expected);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const GatherPlan plan, GatherPlanOf(args.attrs, dx.shape(), args.inputs[1]));
  ForFloating(dx.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
    const T* dy = args.inputs[0].data<T>();
    for (std::int64_t o = 0; o < plan.outer; ++o) {
      for (const std::int64_t index : plan.indices) {
        for (std::int64_t i = 0; i < plan.inner; ++i) {
          sums[static_cast<std::size_t>((o * plan.extent + index) * plan.inner + i)] += static_cast<A>(*dy++);
        }
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same gather of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] = b.Op("Gather", {args.output_grads[0], args.inputs[1]}, {{"axis", args.attrs.Int("axis")}});
  }
  return {};
}

}  // namespace

void DefineOp_gather_grad(OpRegistry& ops) {
  ops.DefineTenon("GatherGrad")
      .Input("dY", kFloatingTypes)
      .Input("indices", kIndexTypes, "Tind")
      .Output("dX")
      .Attr("axis", 0)
      .RequiredAttr("x_shape", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

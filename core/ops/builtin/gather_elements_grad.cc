// tenon.GatherElementsGrad(dY, indices; axis, x_shape) -> dX: zeros to which every element of dY is added where
// GatherElements took it from.
#include <vector>

#include "core/ops/element_index.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  TENON_TRY(CheckElementIndices("GatherElementsGrad", context.shape(1), x, axis));
  TENON_INVALID_IF(!(context.shape(0) == context.shape(1)), "dY has shape {}, but the indices have {}.",
                   context.shape(0), context.shape(1));
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), dx.shape().rank()));
  Status status;
  ForFloating(dx.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
    status = ForEachElementIndex("GatherElementsGrad", args.inputs[1], dx.shape(), axis,
                                 [&](std::int64_t i, std::int64_t at) {
                                   sums[static_cast<std::size_t>(at)] += static_cast<A>(args.inputs[0].data<T>()[i]);
                                 });
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return status;
}

// Linear in dY: a gradient U of dX gives dY the same elements of U.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] =
        b.Op("GatherElements", {args.output_grads[0], args.inputs[1]}, {{"axis", args.attrs.Int("axis")}});
  }
  return {};
}

}  // namespace

void DefineOp_gather_elements_grad(OpRegistry& ops) {
  ops.DefineTenon("GatherElementsGrad")
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

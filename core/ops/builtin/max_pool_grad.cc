// tenon.MaxPoolGrad(dY, Indices; x_shape) -> dX: every dY is added to the element of dX that its index names; Indices are
// those of MaxPool. The window attributes describe the forward node and serve devices that find the winners themselves.
#include <vector>

#include "core/ops/window.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_INVALID_IF(!(context.shape(0) == context.shape(1)), "dY has shape {}, but Indices has {}.", context.shape(0),
                   context.shape(1));
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  const std::int64_t* indices = args.inputs[1].data<std::int64_t>();
  Tensor& dx = args.outputs[0];
  Status status;
  ForFloating(dy.dtype(), [&]<class T>() {
    std::vector<Accumulator<T>> sums(static_cast<std::size_t>(dx.elements()));
    for (std::int64_t i = 0; i < dy.elements() && status.ok(); ++i) {
      const std::int64_t at = indices[i];
      if (at == -1) continue;  // a window of padding only
      if (at < 0 || at >= dx.elements()) {
        status =
            InvalidArgument("Index {} of element {} is outside [0, {}), the elements of dX.", at, i, dx.elements());
      } else {
        sums[static_cast<std::size_t>(at)] += static_cast<Accumulator<T>>(dy.data<T>()[i]);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
  });
  return status;
}

// Linear in dY: a gradient U of dX gives dY the elements of U at Indices.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const std::int64_t flat[] = {-1};
  const Value u = b.Op("Reshape", {args.output_grads[0], b.Ints(flat)});
  args.input_grads[0] = b.Op("Gather", {u, args.inputs[1]});
  return {};
}

}  // namespace

void DefineOp_max_pool_grad(OpRegistry& ops) {
  OpDef& op = ops.DefineTenon("MaxPoolGrad")
                  .Input("dY", kFloatingTypes)
                  .Input("Indices", {DType::kI64}, "indices")
                  .Output("dX")
                  .RequiredAttr("x_shape", AttrType::kInts)
                  .Infer(Infer)
                  .Reference(Reference)
                  .Gradient(Gradient);
  DefinePoolAttributes(op);
}

}  // namespace tenon

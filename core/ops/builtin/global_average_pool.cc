// GlobalAveragePool(X): mean over all spatial axes of X [N, C, D1 ..], which stay with extent 1. ONNX GlobalAveragePool,
// since opset 1.
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  SymShape out = context.shape(0);
  TENON_INVALID_IF(out.rank() < 3, "GlobalAveragePool takes X [N, C, D1 ..]; it has shape {}.", out);
  for (int axis = 2; axis < out.rank(); ++axis) out.set_dim(axis, 1);
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

std::int64_t Area(const Shape& shape) {
  std::int64_t area = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) area *= shape[axis];
  return area;
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const std::int64_t area = Area(x.shape());
  ForFloating(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    for (std::int64_t o = 0; o < args.outputs[0].elements(); ++o) {
      A sum{0};
      for (std::int64_t i = 0; i < area; ++i) sum += static_cast<A>(x.data<T>()[o * area + i]);
      args.outputs[0].data<T>()[o] = static_cast<T>(sum / static_cast<A>(area));
    }
  });
  return {};
}

// dX = dY / area, spread over the spatial axes.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  const Value dy = args.output_grads[0];
  const Value share = b.Div(dy, b.ScalarLike(dy, static_cast<double>(Area(x))));
  args.input_grads[0] = b.Op("Expand", {share, b.Ints(x.dims())});
  return {};
}

}  // namespace

void DefineOp_global_average_pool(OpRegistry& ops) {
  ops.Define("GlobalAveragePool")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Input("X", kFloatingTypes)
      .Output("Y")
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

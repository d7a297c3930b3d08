// PRelu(X, slope) = X where X >= 0, else slope * X; slope broadcasts to the shape of X, never the other way. NaN stays NaN.
// ONNX PRelu, since opset 7. Source: He et al. 2015.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

constexpr TypeSet kTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status Infer(InferContext& context) {
  const SymShape &x = context.shape(0), &slope = context.shape(1);
  TENON_ASSIGN(const SymShape both, Broadcast(x, slope));
  TENON_INVALID_IF(!(both == x), "PRelu slope has shape {}, which does not broadcast to X {}.", slope, x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[0], &slope = args.inputs[1];
  ForNumeric(x.dtype(), [&]<class T>() {
    const T *px = x.data<T>(), *ps = slope.data<T>();
    T* y = args.outputs[0].data<T>();
    ForEachBroadcast(x.shape(), x.shape(), slope.shape(), [&](std::int64_t i, std::int64_t ix, std::int64_t is) {
      y[i] = px[ix] < T{} ? Combine(px[ix], ps[is], [](auto a, auto b) { return a * b; }) : px[ix];
    });
  });
  return {};
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value inputs[] = {args.output_grads[0], args.inputs[0], args.inputs[1]};
  const auto grads = b.Apply("tenon", "PReluGrad", inputs, {}, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (args.wants(i)) args.input_grads[i] = grads[i];
  }
  return {};
}

}  // namespace

void DefineOp_p_relu(OpRegistry& ops) {
  ops.Define("PRelu")
      .InLowPrecision(LowPrecision::kGains)
      .Since(7)
      .Input("X", kTypes)
      .Input("slope", kTypes)
      .Output("Y")
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

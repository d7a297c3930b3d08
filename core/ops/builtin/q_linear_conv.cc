// QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B): the convolution of what the
// 8-bit operands stand for, quantised: y = saturate(round((sum (x - zx)(w - zw) + B) * (x_scale * w_scale / y_scale)) +
// zy), halves rounded to even; padding counts as x_zero_point. Scale and zero point of w are one number or one an output
// channel, all others one. ONNX QLinearConv, since opset 10.
#include "core/ops/flops.h"
#include "core/ops/quantized_product.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ConvOutput("QLinearConv", context.attrs(), context.shape(0), context.shape(3)));
  for (const int i : {1, 2, 6, 7}) {
    TENON_INVALID_IF(!IsOne(context.shape(i)), "QLinearConv input {} has shape {}; it is one number.", i,
                     context.shape(i));
  }
  TENON_TRY(CheckQuantity("QLinearConv w_scale", context.shape(4), out[1]));
  TENON_TRY(CheckQuantity("QLinearConv w_zero_point", context.shape(5), out[1]));
  TENON_INVALID_IF(context.has_input(8) && !(context.shape(8) == SymShape{out[1]}),
                   "QLinearConv B has shape {}; w {} needs [{}].", context.shape(8), context.shape(3), out[1]);
  context.SetOutput(0, context.dtype(7), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const auto& in = args.inputs;
  const std::vector<float> w_scale = NumbersOf<float>(in[4]);
  const float x_scale = in[1].data<float>()[0], y_scale = in[6].data<float>()[0];
  const std::int32_t y_zero = NumbersOf<std::int32_t>(in[7])[0];
  const std::vector<std::int32_t> bias = NumbersOf<std::int32_t>(args.has(8) ? in[8] : Tensor());
  ForInteger(args.outputs[0].dtype(), [&]<class Q>() {
    Q* y = args.outputs[0].data<Q>();
    QuantizedConv(args.attrs, in[0], in[2], in[3], in[5], [&](std::int64_t i, std::int64_t m, std::int32_t sum) {
      const std::int64_t all = std::int64_t{sum} + EntryOf(bias, m);
      y[i] = Quantized<Q>(Requantized(static_cast<std::int32_t>(all), x_scale, EntryOf(w_scale, m), y_scale), y_zero);
    });
  });
  return {};
}

}  // namespace

void DefineOp_q_linear_conv(OpRegistry& ops) {
  constexpr TypeSet kScale = {DType::kF32};
  OpDef& op = ops.Define("QLinearConv")
                  .Flops([](const FlopArgs& args) { return ConvFlops(args.output(0), args.input(3)); })
                  .InLowPrecision(LowPrecision::kNever)
                  .Since(10)
                  .Input("x", kByteTypes, "T1")
                  .Input("x_scale", kScale, "")
                  .Input("x_zero_point", kByteTypes, "T1")
                  .Input("w", kByteTypes, "T2")
                  .Input("w_scale", kScale, "")
                  .Input("w_zero_point", kByteTypes, "T2")
                  .Input("y_scale", kScale, "")
                  .Input("y_zero_point", kByteTypes, "T3")
                  .OptionalInput("B", {DType::kI32}, "")
                  .Output("y")
                  .Attr("group", 1)
                  .Infer(Infer)
                  .Reference(Reference)
                  .NoGradient();
  DefineConvAttributes(op);
}

}  // namespace tenon

// ConvInteger(x, w, x_zero_point, w_zero_point): the int32 convolution of x - x_zero_point with w - w_zero_point, as Conv
// of 8-bit operands; padding counts as x_zero_point. The zero point of w is one number or one an output channel. ONNX
// ConvInteger, since opset 10.
#include "core/ops/flops.h"
#include "core/ops/quantized_product.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ConvOutput("ConvInteger", context.attrs(), context.shape(0), context.shape(1)));
  TENON_INVALID_IF(context.has_input(2) && !IsOne(context.shape(2)),
                   "ConvInteger x_zero_point has shape {}; it is one number.", context.shape(2));
  if (context.has_input(3)) TENON_TRY(CheckQuantity("ConvInteger w_zero_point", context.shape(3), out[1]));
  context.SetOutput(0, DType::kI32, out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  std::int32_t* y = args.outputs[0].data<std::int32_t>();
  QuantizedConv(args.attrs, args.inputs[0], args.has(2) ? args.inputs[2] : Tensor(), args.inputs[1],
                args.has(3) ? args.inputs[3] : Tensor(),
                [&](std::int64_t i, std::int64_t, std::int32_t sum) { y[i] = sum; });
  return {};
}

}  // namespace

void DefineOp_conv_integer(OpRegistry& ops) {
  OpDef& op = ops.Define("ConvInteger")
                  .Flops([](const FlopArgs& args) { return ConvFlops(args.output(0), args.input(1)); })
                  .Since(10)
                  .Input("x", kByteTypes, "T1")
                  .Input("w", kByteTypes, "T2")
                  .OptionalInput("x_zero_point", kByteTypes, "T1")
                  .OptionalInput("w_zero_point", kByteTypes, "T2")
                  .Output("y")
                  .Attr("group", 1)
                  .Infer(Infer)
                  .Reference(Reference)
                  .NoGradient();
  DefineConvAttributes(op);
}

}  // namespace tenon

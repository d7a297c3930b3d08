// QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point): the product of what the 8-bit
// operands stand for, quantised: y = saturate(round(sum (a - za)(b - zb) * (a_scale * b_scale / y_scale)) + zy), halves
// rounded to even. Scale and zero point of a are one number or one a row, of b one or one a column, of y one. ONNX
// QLinearMatMul, since opset 10, with float32 scales.
#include "core/ops/flops.h"
#include "core/ops/quantized_product.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ProductShape(context.shape(0), context.shape(3)));
  TENON_TRY(CheckMatrixQuantity("QLinearMatMul a_scale", context.shape(1), context.shape(0), -2));
  TENON_TRY(CheckMatrixQuantity("QLinearMatMul a_zero_point", context.shape(2), context.shape(0), -2));
  TENON_TRY(CheckMatrixQuantity("QLinearMatMul b_scale", context.shape(4), context.shape(3), -1));
  TENON_TRY(CheckMatrixQuantity("QLinearMatMul b_zero_point", context.shape(5), context.shape(3), -1));
  TENON_INVALID_IF(!IsOne(context.shape(6)) || !IsOne(context.shape(7)),
                   "QLinearMatMul y_scale has shape {} and y_zero_point {}; both are one number.", context.shape(6),
                   context.shape(7));
  context.SetOutput(0, context.dtype(7), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const auto& in = args.inputs;
  const std::vector<float> a_scale = NumbersOf<float>(in[1]), b_scale = NumbersOf<float>(in[4]);
  const float y_scale = in[6].data<float>()[0];
  const std::int32_t y_zero = NumbersOf<std::int32_t>(in[7])[0];
  Status status;
  ForInteger(args.outputs[0].dtype(), [&]<class Q>() {
    Q* y = args.outputs[0].data<Q>();
    status = QuantizedMatMul(
        in[0], in[2], in[3], in[5], [&](std::int64_t i, std::int64_t row, std::int64_t column, std::int32_t sum) {
          y[i] = Quantized<Q>(Requantized(sum, EntryOf(a_scale, row), EntryOf(b_scale, column), y_scale), y_zero);
        });
  });
  return status;
}

}  // namespace

void DefineOp_q_linear_mat_mul(OpRegistry& ops) {
  constexpr TypeSet kScale = {DType::kF32};
  ops.Define("QLinearMatMul")
      .Flops(ProductFlops)
      .InLowPrecision(LowPrecision::kNever)
      .Since(10)
      .Input("a", kByteTypes, "T1")
      .Input("a_scale", kScale, "")
      .Input("a_zero_point", kByteTypes, "T1")
      .Input("b", kByteTypes, "T2")
      .Input("b_scale", kScale, "")
      .Input("b_zero_point", kByteTypes, "T2")
      .Input("y_scale", kScale, "")
      .Input("y_zero_point", kByteTypes, "T3")
      .Output("y")
      .Infer(Infer)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon

// MatMulInteger(A, B, a_zero_point, b_zero_point): the int32 product (A - a_zero_point) (B - b_zero_point), as MatMul of
// 8-bit operands whose zero points are one number, one a row of A, one a column of B. ONNX MatMulInteger, since opset 10.
#include "core/ops/flops.h"
#include "core/ops/quantized_product.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ProductShape(context.shape(0), context.shape(1)));
  if (context.has_input(2))
    TENON_TRY(CheckMatrixQuantity("MatMulInteger a_zero_point", context.shape(2), context.shape(0), -2));
  if (context.has_input(3))
    TENON_TRY(CheckMatrixQuantity("MatMulInteger b_zero_point", context.shape(3), context.shape(1), -1));
  context.SetOutput(0, DType::kI32, out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  std::int32_t* y = args.outputs[0].data<std::int32_t>();
  return QuantizedMatMul(args.inputs[0], args.has(2) ? args.inputs[2] : Tensor(), args.inputs[1],
                         args.has(3) ? args.inputs[3] : Tensor(),
                         [&](std::int64_t i, std::int64_t, std::int64_t, std::int32_t sum) { y[i] = sum; });
}

}  // namespace

void DefineOp_mat_mul_integer(OpRegistry& ops) {
  ops.Define("MatMulInteger")
      .Flops(ProductFlops)
      .Since(10)
      .Input("A", kByteTypes, "T1")
      .Input("B", kByteTypes, "T2")
      .OptionalInput("a_zero_point", kByteTypes, "T1")
      .OptionalInput("b_zero_point", kByteTypes, "T2")
      .Output("Y")
      .Infer(Infer)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon

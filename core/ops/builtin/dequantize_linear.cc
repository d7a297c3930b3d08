// DequantizeLinear(x, x_scale, x_zero_point): y = (x - x_zero_point) * x_scale, for the whole tensor (scalars) or for each
// slice along `axis`; y has the dtype of x_scale. Without a zero point it is 0; int32 has none other. ONNX DequantizeLinear,
// opsets 10 to 23 for 8, 16 and 32 bits without blocks.
#include "core/ops/quantization.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(context.attrs().Int("block_size") != 0,
                   "DequantizeLinear has block_size {}; blocks are not supported.", context.attrs().Int("block_size"));
  if (!IsOne(context.shape(1))) {
    TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
    TENON_TRY(CheckQuantity("DequantizeLinear x_scale", context.shape(1), x[axis]));
  }
  TENON_INVALID_IF(context.has_input(2) && !(context.shape(2) == context.shape(1)),
                   "DequantizeLinear x_zero_point has shape {}; x_scale has {}.", context.shape(2), context.shape(1));
  context.SetOutput(0, context.dtype(1), x);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Shape& shape = args.inputs[0].shape();
  const std::vector<std::int32_t> zero = NumbersOf<std::int32_t>(args.has(2) ? args.inputs[2] : Tensor());
  const SliceWalk walk(shape, args.inputs[1].elements(), args.attrs.Int("axis"));
  ForInteger(args.inputs[0].dtype(), [&]<class Q>() {
    ForFloating(args.inputs[1].dtype(), [&]<class S>() {
      const Q* x = args.inputs[0].data<Q>();
      const S* scale = args.inputs[1].data<S>();
      S* y = args.outputs[0].data<S>();
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        const std::int64_t slice = walk.SliceOf(i);
        const std::int64_t difference = static_cast<std::int64_t>(x[i]) - EntryOf(zero, slice);
        y[i] = static_cast<S>(static_cast<float>(difference) * static_cast<float>(scale[slice]));
      }
    });
  });
  return {};
}

}  // namespace

void DefineOp_dequantize_linear(OpRegistry& ops) {
  constexpr TypeSet kQuantized = {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32};
  ops.Define("DequantizeLinear")
      .InLowPrecision(LowPrecision::kNever)
      .Since(10)
      .Input("x", kQuantized)
      .Input("x_scale", {DType::kF16, DType::kBF16, DType::kF32}, "T2")
      .OptionalInput("x_zero_point", kQuantized)
      .Output("y")
      .Attr("axis", 1)
      .Attr("block_size", 0)
      .Infer(Infer)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon

// QuantizeLinear(x, y_scale, y_zero_point): y = saturate(round(x / y_scale) + y_zero_point), halves rounded to even, for
// the whole tensor (scalars) or for each slice along `axis`. y has the dtype of y_zero_point; without one that of
// output_dtype, or uint8, and the zero point is 0. ONNX QuantizeLinear, opsets 10 to 23 for 8 and 16 bits without blocks.
#include "core/ops/quantization.h"

namespace tenon {
namespace {

constexpr TypeSet kQuantized = {DType::kI8, DType::kU8, DType::kI16, DType::kU16};

Status Infer(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_INVALID_IF(context.attrs().Int("block_size") != 0,
                   "QuantizeLinear has block_size {}; blocks are not supported.", context.attrs().Int("block_size"));
  if (!IsOne(context.shape(1))) {
    TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
    TENON_TRY(CheckQuantity("QuantizeLinear y_scale", context.shape(1), x[axis]));
  }
  TENON_INVALID_IF(context.has_input(2) && !(context.shape(2) == context.shape(1)),
                   "QuantizeLinear y_zero_point has shape {}; y_scale has {}.", context.shape(2), context.shape(1));
  DType dtype = context.has_input(2) ? context.dtype(2) : DType::kU8;
  if (const std::int64_t stated = context.attrs().Int("output_dtype"); stated != 0) {
    TENON_INVALID_IF(stated < 0 || stated > 63 || !kQuantized.Has(static_cast<DType>(stated)),
                     "QuantizeLinear to dtype number {} is not supported; supported are {}.", stated,
                     kQuantized.ToString());
    TENON_INVALID_IF(context.has_input(2) && static_cast<DType>(stated) != dtype,
                     "QuantizeLinear output_dtype is {}; y_zero_point is {}.", NameOf(static_cast<DType>(stated)),
                     NameOf(dtype));
    dtype = static_cast<DType>(stated);
  }
  context.SetOutput(0, dtype, x);
  return {};
}

// The quotient is of the scale's type, as in ONNX.
template <class X, class S, class Q>
void Quantize(const ReferenceArgs& args) {
  const Shape& shape = args.inputs[0].shape();
  const X* x = args.inputs[0].data<X>();
  const S* scale = args.inputs[1].data<S>();
  const std::vector<std::int32_t> zero = NumbersOf<std::int32_t>(args.has(2) ? args.inputs[2] : Tensor());
  Q* y = args.outputs[0].data<Q>();
  const SliceWalk walk(shape, args.inputs[1].elements(), args.attrs.Int("axis"));
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t slice = walk.SliceOf(i);
    const float quotient = static_cast<float>(x[i]) / static_cast<float>(scale[slice]);
    y[i] = Quantized<Q>(static_cast<float>(static_cast<S>(quotient)), EntryOf(zero, slice));
  }
}

Status Reference(const ReferenceArgs& args) {
  const auto with_types = [&]<class X>() {
    ForFloating(args.inputs[1].dtype(),
                [&]<class S>() { ForInteger(args.outputs[0].dtype(), [&]<class Q>() { Quantize<X, S, Q>(args); }); });
  };
  if (args.inputs[0].dtype() == DType::kI32)
    with_types.template operator()<std::int32_t>();
  else
    ForFloating(args.inputs[0].dtype(), with_types);
  return {};
}

}  // namespace

void DefineOp_quantize_linear(OpRegistry& ops) {
  constexpr TypeSet kFloats = {DType::kF16, DType::kBF16, DType::kF32};
  ops.Define("QuantizeLinear")
      .InLowPrecision(LowPrecision::kNever)
      .Since(10)
      .Input("x", kFloats | TypeSet{DType::kI32}, "T1")
      .Input("y_scale", kFloats, "")
      .OptionalInput("y_zero_point", kQuantized, "T2")
      .Output("y")
      .Attr("axis", 1)
      .Attr("saturate", 1)
      .Attr("block_size", 0)
      .Attr("output_dtype", 0)
      .Infer(Infer)
      .Reference(Reference)
      .NoGradient();
}

}  // namespace tenon

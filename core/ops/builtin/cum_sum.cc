// CumSum(X, axis; exclusive, reverse): running sums along axis; exclusive leaves each element out of its own sum, reverse
// runs from the end. Integers wrap, 16-bit floats accumulate in float. ONNX CumSum, since opset 11.
#include "core/ops/elementwise.h"

namespace tenon {
namespace {

constexpr TypeSet kSumTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status Infer(InferContext& context) {
  TENON_INVALID_IF(!context.shape(1).Elements().Is(1), "CumSum axis is one number; it has shape {}.", context.shape(1));
  if (context.constant(1) != nullptr) {
    TENON_ASSIGN(const auto axis, context.ConstantInts(1));
    TENON_TRY(NormalizeAxis(axis[0], context.shape(0).rank()));
  }
  context.SetOutput(0, context.dtype(0), context.shape(0));
  return {};
}

template <class T>
void SumAlong(const Tensor& x, int axis, bool exclusive, bool reverse, Tensor& y) {
  using A = Accumulator<T>;
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.shape()[i];
  for (int i = axis + 1; i < x.shape().rank(); ++i) inner *= x.shape()[i];
  const std::int64_t extent = x.shape()[axis];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      A sum{0};
      for (std::int64_t k = 0; k < extent; ++k) {
        const std::int64_t at = (o * extent + (reverse ? extent - 1 - k : k)) * inner + i;
        const A next = Combine(sum, static_cast<A>(x.data<T>()[at]), [](auto a, auto b) { return a + b; });
        y.data<T>()[at] = static_cast<T>(exclusive ? sum : next);
        sum = next;
      }
    }
  }
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const std::int64_t given = *Cast(args.inputs[1], DType::kI64).data<std::int64_t>();
  TENON_ASSIGN(const int axis, NormalizeAxis(given, x.shape().rank()));
  const bool exclusive = args.attrs.Int("exclusive") != 0, reverse = args.attrs.Int("reverse") != 0;
  ForNumeric(x.dtype(), [&]<class T>() { SumAlong<T>(x, axis, exclusive, reverse, args.outputs[0]); });
  return {};
}

// Each element flows into the sums behind it: the same sums of dY in the other direction.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  args.input_grads[0] = b.Op(
      "CumSum", {args.output_grads[0], args.inputs[1]},
      {{"exclusive", args.attrs.Int("exclusive")}, {"reverse", std::int64_t{args.attrs.Int("reverse") == 0 ? 1 : 0}}});
  return {};
}

}  // namespace

void DefineOp_cum_sum(OpRegistry& ops) {
  ops.Define("CumSum")
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Since(11)
      .Input("x", kSumTypes)
      .Input("axis", kIndexTypes, "T2")
      .Output("y")
      .Attr("exclusive", 0)
      .Attr("reverse", 0)
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

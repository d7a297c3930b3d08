// ReduceL2(X, axes) = square root of the sum of X * X over axes, all of them when none are given. ONNX ReduceL2: axes are an
// attribute since opset 1, an input since opset 18.
#include <cmath>

#include "core/ops/reduction.h"

namespace tenon {
namespace {

constexpr TypeSet kNormTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status Norm(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = std::conditional_t<std::is_integral_v<T>, double, Accumulator<T>>;
    std::vector<A> sums(static_cast<std::size_t>(y.elements()), A{0});
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      const A value = static_cast<A>(x.data<T>()[i]);
      sums[static_cast<std::size_t>(o)] += value * value;
    });
    for (std::size_t o = 0; o < sums.size(); ++o) y.data<T>()[o] = static_cast<T>(std::sqrt(sums[o]));
  });
  return {};
}

// dX = X * dY / Y, and 0 where the norm is 0.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value y = KeptForm(b, args, args.outputs[0]), dy = KeptForm(b, args, args.output_grads[0]);
  const Value divisor = b.Op("Where", {b.Op("Equal", {y, b.ScalarLike(y, 0)}), b.ScalarLike(y, 1), y});
  args.input_grads[0] = b.Mul(dy, b.Div(args.inputs[0], divisor));
  return {};
}

}  // namespace

void DefineOp_reduce_l2(OpRegistry& ops) { DefineReduction(ops, "ReduceL2", kNormTypes, 18, Norm, Gradient); }

}  // namespace tenon

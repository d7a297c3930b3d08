// ReduceLogSumExp(X, axes) = log of the sum of e^X over axes, all of them when none are given; the greatest value is taken
// out first, so that no power overflows. Of nothing it is -inf. ONNX ReduceLogSumExp: axes are an attribute since opset 1,
// an input since opset 18.
#include <cmath>
#include <limits>

#include "core/ops/reduction.h"

namespace tenon {
namespace {

constexpr TypeSet kLogTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

template <class T>
void LogSumExp(const Tensor& x, const std::vector<int>& axes, Tensor& y) {
  using A = std::conditional_t<std::is_integral_v<T>, double, Accumulator<T>>;
  constexpr A kInfinity = std::numeric_limits<A>::infinity();
  const auto count = static_cast<std::size_t>(y.elements());
  std::vector<A> greatest(count, -kInfinity), sums(count, A{0});
  ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
    const A value = static_cast<A>(x.data<T>()[i]);
    A& best = greatest[static_cast<std::size_t>(o)];
    if (value > best || value != value) best = value;
  });
  ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
    const auto at = static_cast<std::size_t>(o);
    const A shift = std::isinf(greatest[at]) ? A{0} : greatest[at];
    sums[at] += std::exp(static_cast<A>(x.data<T>()[i]) - shift);
  });
  for (std::size_t o = 0; o < count; ++o) {
    const A shift = std::isinf(greatest[o]) ? A{0} : greatest[o];
    y.data<T>()[o] = static_cast<T>(std::log(sums[o]) + shift);
  }
}

Status Reduce(const ReferenceArgs& args, const std::vector<int>& axes) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() { LogSumExp<T>(args.inputs[0], axes, args.outputs[0]); });
  return {};
}

// dX = dY e^(X - Y): the softmax. Where Y is -inf, every X is: nothing flows.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value y = KeptForm(b, args, args.outputs[0]), dy = KeptForm(b, args, args.output_grads[0]);
  const Value nothing = b.Op("Equal", {y, b.ScalarLike(y, -std::numeric_limits<double>::infinity())});
  const Value shift = b.Op("Where", {nothing, b.ScalarLike(y, 0), y});
  args.input_grads[0] = b.Mul(dy, b.Op("Exp", {b.Sub(args.inputs[0], shift)}));
  return {};
}

}  // namespace

void DefineOp_reduce_log_sum_exp(OpRegistry& ops) {
  DefineReduction(ops, "ReduceLogSumExp", kLogTypes, 18, Reduce, Gradient);
}

}  // namespace tenon

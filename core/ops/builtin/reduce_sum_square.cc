// ReduceSumSquare(X, axes) = sum of X * X over axes, all of them when none are given. Integers wrap. ONNX ReduceSumSquare:
// axes are an attribute since opset 1, an input since opset 18.
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tenon {
namespace {

constexpr TypeSet kSumTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status SumSquare(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    std::vector<A> sums(static_cast<std::size_t>(y.elements()), A{0});
    ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
      A& sum = sums[static_cast<std::size_t>(o)];
      sum = Combine(sum, static_cast<A>(x.data<T>()[i]), [](auto a, auto b) { return a + b * b; });
    });
    for (std::size_t o = 0; o < sums.size(); ++o) y.data<T>()[o] = static_cast<T>(sums[o]);
  });
  return {};
}

// dX = 2 X dY
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const Value dy = KeptForm(b, args, args.output_grads[0]);
  args.input_grads[0] = b.Mul(args.inputs[0], b.Add(dy, dy));
  return {};
}

}  // namespace

void DefineOp_reduce_sum_square(OpRegistry& ops) {
  DefineReduction(ops, "ReduceSumSquare", kSumTypes, 18, SumSquare, Gradient);
}

}  // namespace tenon

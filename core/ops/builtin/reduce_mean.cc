// ReduceMean(X, axes): mean over axes, all of them when none are given. Sums are kept in float for 16-bit floats and wrap
// for integers, whose mean truncates toward zero; the mean of nothing is NaN, for integers an error. ONNX ReduceMean: axes
// are an attribute since opset 1, an input since opset 18.
#include "core/ops/reduction.h"

namespace tenon {
namespace {

template <class T>
void Average(const Tensor& x, const std::vector<int>& axes, std::int64_t count, Tensor& y) {
  const auto sums = FoldReduced<T>(x, axes, y.elements(), 0, [](auto a, auto b) { return a + b; });
  for (std::size_t o = 0; o < sums.size(); ++o) {
    if constexpr (std::is_unsigned_v<T>) {
      y.data<T>()[o] = static_cast<T>(sums[o] / static_cast<std::uint64_t>(count));
    } else if constexpr (std::is_integral_v<T>) {
      y.data<T>()[o] = static_cast<T>(sums[o] / count);
    } else {
      y.data<T>()[o] = static_cast<T>(sums[o] / static_cast<Accumulator<T>>(count));
    }
  }
}

Status Mean(const ReferenceArgs& args, const std::vector<int>& axes) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  std::int64_t count = 1;
  for (const int axis : axes) count *= x.shape()[axis];
  TENON_INVALID_IF(count == 0 && y.elements() > 0 && IsInteger(x.dtype()),
                   "ReduceMean of {} over no elements has no value.", x.Describe());
  ForNumeric(x.dtype(), [&]<class T>() { Average<T>(x, axes, count, y); });
  return {};
}

// dX = dY / count, spread over the input.
Status Gradient(GradBuilder& b, GradArgs& args) {
  if (!args.wants(0)) return {};
  const std::int64_t from = b.type(args.inputs[0]).shape.Concrete().elements();
  const std::int64_t to = b.type(args.outputs[0]).shape.Concrete().elements();
  const double count = to == 0 ? 1.0 : static_cast<double>(from / to);
  const Value share = b.Div(args.output_grads[0], b.ScalarLike(args.output_grads[0], count));
  args.input_grads[0] = SpreadOverInput(b, args, share);
  return {};
}

}  // namespace

void DefineOp_reduce_mean(OpRegistry& ops) { DefineReduction(ops, "ReduceMean", kNumericTypes, 18, Mean, Gradient); }

}  // namespace tenon

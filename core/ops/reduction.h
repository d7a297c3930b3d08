#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/elementwise.h"
#include "core/ops/op_def.h"

namespace tenon {

// Sorted, distinct, non-negative axes of a reduction over a tensor of rank `rank`. Absent or empty means all axes, or
// none when `noop_with_empty_axes`.
Result<std::vector<int>> ReductionAxes(const std::vector<std::int64_t>& axes, bool noop_with_empty_axes, int rank);

// The same from a node whose axes are an attribute (older opsets) or constant input 1 (newer ones).
Result<std::vector<int>> ReductionAxesOf(const InferContext& context, bool axes_are_input);
Result<std::vector<int>> ReductionAxesOf(const ReferenceArgs& args, bool axes_are_input);

// Shape rule: `keepdims` 1 leaves 1 in place of every reduced axis, 0 removes it.
Status InferReduction(InferContext& context, bool axes_are_input);

// Shape of `shape` with 1 in place of the reduced axes: the form in which a result broadcasts against its input.
Shape KeptShape(const Shape& shape, const std::vector<int>& axes);

// Calls fn(i, o) for every input element i in row-major order with the element o of the result it belongs to.
template <class Fn>
void ForEachReduced(const Shape& input, const std::vector<int>& axes, Fn fn) {
  const Shape kept = KeptShape(input, axes);
  auto strides = BroadcastStrides(kept, input);
  ForEachStrided<1>(input, {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) { fn(i, at[0]); });
}

// For each of the `count` elements of a result: `start` folded with the elements of x that belong to it, in Accumulator<T>;
// integers wrap.
template <class T, class Fold>
std::vector<Accumulator<T>> FoldReduced(const Tensor& x, const std::vector<int>& axes, std::int64_t count,
                                        Accumulator<T> start, Fold fold) {
  using A = Accumulator<T>;
  std::vector<A> folded(static_cast<std::size_t>(count), start);
  const T* values = x.data<T>();
  ForEachReduced(x.shape(), axes, [&](std::int64_t i, std::int64_t o) {
    A& so_far = folded[static_cast<std::size_t>(o)];
    so_far = Combine(so_far, static_cast<A>(values[i]), fold);
  });
  return folded;
}

// The same as a reference kernel.
template <class Fold>
Status FoldNumeric(const ReferenceArgs& args, const std::vector<int>& axes, int start, Fold fold) {
  Tensor& y = args.outputs[0];
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    const auto folded = FoldReduced<T>(args.inputs[0], axes, y.elements(), static_cast<Accumulator<T>>(start), fold);
    for (std::size_t o = 0; o < folded.size(); ++o) y.data<T>()[o] = static_cast<T>(folded[o]);
  });
  return {};
}

// Defines both forms of a reduction of ONNX: axes are an attribute since opset 1, input 1 since `axes_input_since`. `reduce`
// fills output 0 from input 0 and the sorted axes. `effect`: most reductions add many terms.
using ReduceFn = Status (*)(const ReferenceArgs& args, const std::vector<int>& axes);
void DefineReduction(OpRegistry& ops, const char* type, TypeSet types, int axes_input_since, ReduceFn reduce,
                     GradientFn gradient, LowPrecision effect = LowPrecision::kLosesDigits);

// `value`, which has the shape of the node's output, with 1 in place of every reduced axis.
Value KeptForm(GradBuilder& builder, const GradArgs& args, Value value);

// `value`, which has the shape of the node's output, spread over the shape of the node's input: the gradient of a sum.
Value SpreadOverInput(GradBuilder& builder, const GradArgs& args, Value value);

// The gradient of ReduceMax and ReduceMin: dX = dY shared evenly among the elements that equal the result.
Status ShareAmongBest(GradBuilder& builder, GradArgs& args);

}  // namespace tenon

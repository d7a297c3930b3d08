#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {

// Output 0 = finish(fold(.. fold(X1, X2) .., Xn)), elementwise with broadcasting, in Accumulator<T>.
template <class T, class Fold, class Finish>
void FoldVariadic(const ReferenceArgs& args, Fold fold, Finish finish) {
  using A = Accumulator<T>;
  Tensor& out = args.outputs[0];
  std::vector<A> values(static_cast<std::size_t>(out.elements()));
  for (std::size_t k = 0; k < args.inputs.size(); ++k) {
    const T* x = args.inputs[k].data<T>();
    ForEachStrided<1>(out.shape(), {BroadcastStrides(args.inputs[k].shape(), out.shape())},
                      [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
                        A& value = values[static_cast<std::size_t>(i)];
                        const A next = static_cast<A>(x[at[0]]);
                        value = k == 0 ? next : static_cast<A>(fold(value, next));
                      });
  }
  for (std::size_t i = 0; i < values.size(); ++i) out.data<T>()[i] = static_cast<T>(finish(values[i]));
}

// The gradient of Max and Min: dY goes to the inputs that equal the result, shared evenly.
inline Status ShareAmongEqual(GradBuilder& b, GradArgs& args) {
  std::vector<Value> inputs{args.output_grads[0], args.outputs[0]};
  inputs.insert(inputs.end(), args.inputs.begin(), args.inputs.end());
  const auto grads = b.Apply("tenon", "MaxGrad", inputs, {}, static_cast<int>(args.inputs.size()));
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.wants(i)) args.input_grads[i] = b.SumToShape(grads[i], b.type(args.inputs[i]).shape);
  }
  return {};
}

}  // namespace tenon

#pragma once

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {

// Output 0 (bool) = fn(input 0, input 1), elementwise with numpy broadcasting, any dtype; 16-bit floats compare as float.
// A comparison with NaN is false, as IEEE 754 has it.
template <class Fn>
Status CompareElements(const ReferenceArgs& args, Fn fn) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  bool* y = args.outputs[0].data<bool>();
  ForAny(a.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T *pa = a.data<T>(), *pb = b.data<T>();
    ForEachBroadcast(args.outputs[0].shape(), a.shape(), b.shape(),
                     [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
                       y[i] = fn(static_cast<A>(pa[ia]), static_cast<A>(pb[ib]));
                     });
  });
  return {};
}

}  // namespace tenon

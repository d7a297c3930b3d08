#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// ArgMax and ArgMin: output 0 = position along `axis` of the element that no other one beats; the first of equals, with
// select_last_index the last. NaN beats every number, as in the reductions. better(a, b): a beats b.

inline Status InferArgBest(InferContext& context) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const int axis, NormalizeAxis(context.attrs().Int("axis"), x.rank()));
  TENON_INVALID_IF(x[axis].Is(0), "Axis {} of {} has no elements to choose from.", axis, x);
  SymShape out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      out.push_back(x[i]);
    } else if (context.attrs().Int("keepdims") != 0) {
      out.push_back(1);
    }
  }
  context.SetOutput(0, DType::kI64, out);
  return {};
}

template <class Better>
Status ArgBest(const ReferenceArgs& args, Better better) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const int axis, NormalizeAxis(args.attrs.Int("axis"), x.shape().rank()));
  const bool last = args.attrs.Int("select_last_index", 0) != 0;
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.shape()[i];
  for (int i = axis + 1; i < x.shape().rank(); ++i) inner *= x.shape()[i];
  std::int64_t* out = args.outputs[0].data<std::int64_t>();
  ForNumeric(x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    for (std::int64_t at = 0; at < outer * inner; ++at) {
      const T* from = x.data<T>() + at / inner * x.shape()[axis] * inner + at % inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < x.shape()[axis]; ++k) {
        const A value = static_cast<A>(from[k * inner]), kept = static_cast<A>(from[best * inner]);
        const bool value_nan = value != value, kept_nan = kept != kept;
        const bool equal = value == kept || (value_nan && kept_nan);
        const bool wins = equal ? last : value_nan || (!kept_nan && better(value, kept));
        if (wins) best = k;
      }
      out[at] = best;
    }
  });
  return {};
}

// Both forms: select_last_index came with opset 12.
inline void DefineArgBest(OpRegistry& ops, const char* type, ReferenceFn reference) {
  const auto define = [&](int since) -> OpDef& {
    return ops.Define(type)
        .Since(since)
        .Input("data", kNumericTypes)
        .Output("reduced")
        .Attr("axis", 0)
        .Attr("keepdims", 1)
        .NoGradient()
        .Infer(InferArgBest)
        .Reference(reference);
  };
  define(1);
  define(12).Attr("select_last_index", 0);
}

}  // namespace tenon

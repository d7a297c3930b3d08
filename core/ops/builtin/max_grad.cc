// tenon.MaxGrad(dY, Y, X1, .., Xn) -> dX1, .., dXn in the broadcast shape: dY shared evenly among the inputs that equal the
// result Y of Max, 0 for the others.
#include <array>
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_INVALID_IF(context.num_outputs() != context.num_inputs() - 2, "MaxGrad of {} inputs has {} outputs.",
                   context.num_inputs() - 2, context.num_outputs());
  TENON_INVALID_IF(!(context.shape(0) == context.shape(1)), "dY has shape {}, but Y has {}.", context.shape(0),
                   context.shape(1));
  for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, context.dtype(0), context.shape(0));
  return {};
}

template <class T>
void Share(const ReferenceArgs& args) {
  using A = Accumulator<T>;
  const Shape& shape = args.inputs[0].shape();
  const T *dy = args.inputs[0].data<T>(), *y = args.inputs[1].data<T>();
  const auto each = [&](auto fn) {
    for (std::size_t k = 2; k < args.inputs.size(); ++k) {
      const T* x = args.inputs[k].data<T>();
      ForEachStrided<1>(shape, {BroadcastStrides(args.inputs[k].shape(), shape)},
                        [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
                          const T value = x[at[0]];
                          fn(k - 2, i, value == y[i] || (value != value && y[i] != y[i]));
                        });
    }
  };
  std::vector<A> ties(static_cast<std::size_t>(shape.elements()), A{0});
  each([&](std::size_t, std::int64_t i, bool wins) { ties[static_cast<std::size_t>(i)] += wins ? A{1} : A{0}; });
  each([&](std::size_t k, std::int64_t i, bool wins) {
    if (!args.wants(k)) return;
    args.outputs[k].template data<T>()[i] =
        static_cast<T>(wins ? static_cast<A>(dy[i]) / ties[static_cast<std::size_t>(i)] : A{0});
  });
}

Status Reference(const ReferenceArgs& args) {
  ForFloating(args.inputs[0].dtype(), [&]<class T>() { Share<T>(args); });
  return {};
}

}  // namespace

void DefineOp_max_grad(OpRegistry& ops) {
  ops.DefineTenon("MaxGrad")
      .Input("dY", kFloatingTypes)
      .Input("Y", kFloatingTypes)
      .VariadicInput("X", kFloatingTypes)
      .VariadicOutput("dX")
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

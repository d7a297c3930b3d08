// tenon.MovingAverage: exponential moving averages of parameters. For every average a of parameter w
//   a = decay * a + (1 - decay) * w.
// Inputs: `count` averages and `count` parameters; outputs: the averages, updated where they lie.
#include "core/ops/optimizer.h"

namespace tenon {
namespace {

constexpr OptimizerGroups kGroups{.scalars = 0, .updated = 1};

Status Infer(InferContext& context) {
  const double decay = context.attrs().Float("decay");
  TENON_INVALID_IF(!(decay >= 0 && decay <= 1), "The decay of a moving average is {}; it must be in [0, 1].", decay);
  return InferOptimizer(context, kGroups, {"average", "parameter"});
}

Status Reference(const ReferenceArgs& args) {
  const double decay = args.attrs.Float("decay");
  const std::int64_t count = args.attrs.Int("count");
  for (std::int64_t k = 0; k < count; ++k) {
    const Tensor &average = args.inputs[kGroups.Input(0, k, count)], &now = args.inputs[kGroups.Input(1, k, count)];
    ForFloating(average.dtype(), [&]<class T>() {
      using A = Accumulator<T>;
      const T *a = average.data<T>(), *w = now.data<T>();
      T* out = args.outputs[static_cast<std::size_t>(k)].data<T>();
      const A keep = static_cast<A>(decay), take = static_cast<A>(1 - decay);
      for (std::int64_t i = 0; i < average.elements(); ++i)
        out[i] = static_cast<T>(keep * static_cast<A>(a[i]) + take * static_cast<A>(w[i]));
    });
  }
  return {};
}

}  // namespace

void DefineOp_moving_average(OpRegistry& ops) {
  ops.DefineTenon("MovingAverage")
      .VariadicInput("tensors", kFloatingTypes, "")
      .VariadicOutput("averages")
      .UpdatesInputs(0)
      .RequiredAttr("decay", AttrType::kFloat)
      .RequiredAttr("count", AttrType::kInt)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

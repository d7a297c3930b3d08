// tenon.Accumulate: sums of weighted gradients over several batches. For every sum s with gradient g
//   s = start != 0 ? weight * g : s + weight * g.
// Inputs: weight f32 scalar, start i64 scalar (not 0: what the sums held before is forgotten, also what is not finite), then
// `count` sums and `count` gradients; outputs: the sums, updated where they lie.
#include "core/ops/optimizer.h"

namespace tenon {
namespace {

constexpr OptimizerGroups kGroups{.scalars = 2, .updated = 1};

Status Infer(InferContext& context) { return InferOptimizer(context, kGroups, {"sum", "gradient"}); }

Status Reference(const ReferenceArgs& args) {
  const double weight = ScalarInput(args, 0);
  const bool start = *args.inputs[1].data<std::int64_t>() != 0;
  const std::int64_t count = args.attrs.Int("count");
  for (std::int64_t k = 0; k < count; ++k) {
    const Tensor &sum = args.inputs[kGroups.Input(0, k, count)], &gradient = args.inputs[kGroups.Input(1, k, count)];
    ForFloating(sum.dtype(), [&]<class T>() {
      using A = Accumulator<T>;
      const T *s = sum.data<T>(), *g = gradient.data<T>();
      T* out = args.outputs[static_cast<std::size_t>(k)].data<T>();
      const A w = static_cast<A>(weight);
      for (std::int64_t i = 0; i < sum.elements(); ++i) {
        const A part = w * static_cast<A>(g[i]);
        out[i] = static_cast<T>(start ? part : static_cast<A>(s[i]) + part);
      }
    });
  }
  return {};
}

}  // namespace

void DefineOp_accumulate(OpRegistry& ops) {
  ops.DefineTenon("Accumulate")
      .Input("weight", {DType::kF32}, "weight")
      .Input("start", {DType::kI64}, "start")
      .VariadicInput("tensors", kFloatingTypes, "")
      .VariadicOutput("sums")
      .UpdatesInputs(2)
      .RequiredAttr("count", AttrType::kInt)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

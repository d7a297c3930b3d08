#include "core/ops/moments.h"

#include <cmath>

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  for (const char* name : {"beta1", "beta2"}) {
    const double beta = context.attrs().Float(name);
    TENON_INVALID_IF(!(beta >= 0 && beta < 1), "{} is {}; it must be in [0, 1).", name, beta);
  }
  return InferOptimizer(context, kMomentGroups, {"parameter", "first moment", "second moment", "gradient"});
}

}  // namespace

Result<MomentSettings> MomentSettingsOf(const ReferenceArgs& args) {
  const std::int64_t step = *args.inputs[1].data<std::int64_t>();
  TENON_INVALID_IF(step < 1, "The step of an optimiser counts from 1; it is {}.", step);
  MomentSettings s{};
  s.lr = ScalarInput(args, 0);
  s.beta1 = args.attrs.Float("beta1");
  s.beta2 = args.attrs.Float("beta2");
  s.epsilon = args.attrs.Float("epsilon");
  s.weight_decay = args.attrs.Float("weight_decay");
  s.correction1 = 1 - std::pow(s.beta1, static_cast<double>(step));
  s.correction2 = std::sqrt(1 - std::pow(s.beta2, static_cast<double>(step)));
  return s;
}

void DefineMoments(OpRegistry& ops, const char* type, double epsilon, double weight_decay, ReferenceFn reference) {
  ops.DefineTenon(type)
      .Input("lr", {DType::kF32}, "lr")
      .Input("step", {DType::kI64}, "step")
      .VariadicInput("tensors", kFloatingTypes, "")
      .VariadicOutput("updated")
      .UpdatesInputs(2)
      .Attr("beta1", 0.9)
      .Attr("beta2", 0.999)
      .Attr("epsilon", epsilon)
      .Attr("weight_decay", weight_decay)
      .RequiredAttr("count", AttrType::kInt)
      .NoGradient()
      .Infer(Infer)
      .Reference(std::move(reference));
}

}  // namespace tenon

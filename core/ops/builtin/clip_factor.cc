// tenon.ClipFactor: what tensors have to be multiplied by so that their joint L2 norm is at most `max_norm`:
//   norm = sqrt(sum of x^2 over all elements of all inputs),   factor = max_norm / max(norm, max_norm).
// Outputs: factor f32 scalar, norm f32 scalar. The squares are summed in double precision, input after input. Semantics of
// clip_by_global_norm of MindSpore and TensorFlow; torch.nn.utils.clip_grad_norm_ adds 1e-6 to the norm.
#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const double limit = context.attrs().Float("max_norm");
  TENON_INVALID_IF(!(limit > 0), "max_norm is {}; it must be above 0.", limit);
  context.SetOutput(0, DType::kF32, SymShape{});
  context.SetOutput(1, DType::kF32, SymShape{});
  return {};
}

Status Reference(const ReferenceArgs& args) {
  double sum = 0;
  for (const Tensor& input : args.inputs) {
    ForFloating(input.dtype(), [&]<class T>() {
      const T* x = input.data<T>();
      for (std::int64_t i = 0; i < input.elements(); ++i) {
        const double value = static_cast<double>(x[i]);
        sum += value * value;
      }
    });
  }
  const double limit = args.attrs.Float("max_norm"), norm = std::sqrt(sum);
  Tensor factor = args.outputs[0], joint = args.outputs[1];
  if (factor.defined()) *factor.data<float>() = static_cast<float>(limit / (norm > limit ? norm : limit));
  if (joint.defined()) *joint.data<float>() = static_cast<float>(norm);
  return {};
}

}  // namespace

void DefineOp_clip_factor(OpRegistry& ops) {
  ops.DefineTenon("ClipFactor")
      .VariadicInput("tensors", kFloatingTypes, "")
      .Output("factor")
      .Output("norm")
      .RequiredAttr("max_norm", AttrType::kFloat)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

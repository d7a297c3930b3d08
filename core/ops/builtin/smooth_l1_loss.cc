// tenon.SmoothL1Loss(predictions, targets; beta = 1, reduction = mean): with d = |predictions - targets|, elements
// d^2 / (2 beta) where d < beta, else d - beta / 2; their sum, or their mean. Semantics of torch.nn.functional.smooth_l1_loss;
// beta 0 is L1Loss. Source: Girshick 2015.
#include <cmath>

#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  const double beta = context.attrs().Float("beta");
  TENON_INVALID_IF(!(beta >= 0), "SmoothL1Loss beta is {}; it cannot be negative.", beta);
  return InferElementLoss(context);
}

Status Reference(const ReferenceArgs& args) {
  return ElementLoss(args, [beta = args.attrs.Float("beta")](auto x, auto t) {
    using A = decltype(x);
    const A d = std::abs(x - t), b = static_cast<A>(beta);
    return d < b ? A{0.5} * d * d / b : d - A{0.5} * b;
  });
}

}  // namespace

void DefineOp_smooth_l1_loss(OpRegistry& ops) {
  DefineElementLoss(ops, "SmoothL1Loss")
      .Attr("beta", 1.0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient([](GradBuilder& b, GradArgs& args) { return DifferenceLossGradient(b, args, "SmoothL1LossGrad"); });
}

}  // namespace tenon

// tenon.MeanSquaredErrorLoss(predictions, targets; reduction = mean): elements (predictions - targets)^2, their sum, or their
// mean. Semantics of torch.nn.functional.mse_loss.
#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ElementLoss(args, [](auto x, auto t) { return (x - t) * (x - t); });
}

}  // namespace

void DefineOp_mean_squared_error_loss(OpRegistry& ops) {
  DefineElementLoss(ops, "MeanSquaredErrorLoss").Reference(Reference).Gradient([](GradBuilder& b, GradArgs& args) {
    return DifferenceLossGradient(b, args, "MeanSquaredErrorLossGrad");
  });
}

}  // namespace tenon

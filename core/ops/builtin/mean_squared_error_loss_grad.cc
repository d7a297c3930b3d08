// tenon.MeanSquaredErrorLossGrad(dloss, predictions, targets; reduction = mean) = 2 * (predictions - targets) * dloss, divided
// by the number of elements when reduction is mean.
#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ElementLossGrad(args, [](auto x, auto t) { return 2 * (x - t); });
}

}  // namespace

void DefineOp_mean_squared_error_loss_grad(OpRegistry& ops) {
  DefineElementLossGrad(ops, "MeanSquaredErrorLossGrad").Reference(Reference);
}

}  // namespace tenon

// tenon.L1LossGrad(dloss, predictions, targets; reduction = mean) = the sign of predictions - targets (0 where they are equal)
// times dloss, divided by the number of elements when reduction is mean.
#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ElementLossGrad(args, [](auto x, auto t) {
    const auto apart = x - t;
    return apart > 0 ? decltype(apart){1} : apart < 0 ? decltype(apart){-1} : apart;
  });
}

}  // namespace

void DefineOp_l1_loss_grad(OpRegistry& ops) { DefineElementLossGrad(ops, "L1LossGrad").Reference(Reference); }

}  // namespace tenon

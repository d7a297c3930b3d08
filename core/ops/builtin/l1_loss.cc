// tenon.L1Loss(predictions, targets; reduction = mean): elements |predictions - targets|, their sum, or their mean. Semantics
// of torch.nn.functional.l1_loss.
#include <cmath>

#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ElementLoss(args, [](auto x, auto t) { return std::abs(x - t); });
}

}  // namespace

void DefineOp_l1_loss(OpRegistry& ops) {
  DefineElementLoss(ops, "L1Loss").Reference(Reference).Gradient([](GradBuilder& b, GradArgs& args) {
    return DifferenceLossGradient(b, args, "L1LossGrad");
  });
}

}  // namespace tenon

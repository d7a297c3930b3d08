// tenon.SmoothL1LossGrad(dloss, predictions, targets; beta = 1, reduction = mean): with d = predictions - targets, d / beta
// where |d| < beta, else the sign of d, times dloss, divided by the number of elements when reduction is mean.
#include <cmath>

#include "core/ops/element_loss.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ElementLossGrad(args, [beta = args.attrs.Float("beta")](auto x, auto t) {
    using A = decltype(x);
    const A d = x - t, b = static_cast<A>(beta);
    if (std::abs(d) < b) return static_cast<A>(d / b);
    return d > 0 ? A{1} : d < 0 ? A{-1} : d;
  });
}

}  // namespace

void DefineOp_smooth_l1_loss_grad(OpRegistry& ops) {
  DefineElementLossGrad(ops, "SmoothL1LossGrad").Attr("beta", 1.0).Reference(Reference);
}

}  // namespace tenon

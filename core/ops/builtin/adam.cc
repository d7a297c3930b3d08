// tenon.Adam: for every parameter w with gradient g, moments m and v (zero before the first step) and step t = 1, 2, ..,
//   g = g + weight_decay * w,
//   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
//   w = w - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
// Inputs: lr f32 scalar, step i64 scalar, then `count` parameters, m, v and gradients; outputs: parameters, m, v, updated
// where they lie. Semantics of torch.optim.Adam. Source: Kingma and Ba 2015, algorithm 1.
#include "core/ops/adam.h"
#include "core/ops/moments.h"

namespace tenon {

void DefineOp_adam(OpRegistry& ops) {
  DefineMoments(ops, "Adam", /*epsilon=*/1e-8, /*weight_decay=*/0.0,
                [](const ReferenceArgs& args) { return UpdateAdam(args, /*decoupled=*/false); });
}

}  // namespace tenon

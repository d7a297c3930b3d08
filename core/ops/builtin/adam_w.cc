// tenon.AdamW: for every parameter w with gradient g, moments m and v (zero before the first step) and step t = 1, 2, ..,
//   w = w - lr * weight_decay * w,
//   m = beta1 * m + (1 - beta1) * g,   v = beta2 * v + (1 - beta2) * g^2,
//   w = w - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
// Inputs: lr f32 scalar, step i64 scalar, then `count` parameters, m, v and gradients; outputs: parameters, m, v, updated
// where they lie. Semantics of torch.optim.AdamW. Source: Loshchilov and Hutter 2019, algorithm 2.
#include "core/ops/adam.h"
#include "core/ops/moments.h"

namespace tenon {

void DefineOp_adam_w(OpRegistry& ops) {
  DefineMoments(ops, "AdamW", /*epsilon=*/1e-8, /*weight_decay=*/0.01,
                [](const ReferenceArgs& args) { return UpdateAdam(args, /*decoupled=*/true); });
}

}  // namespace tenon

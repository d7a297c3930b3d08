#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// The step of Adam and AdamW; builtin/adam.cc and builtin/adam_w.cc state the formulas. `decoupled`: weight decay shrinks the
// parameters themselves (AdamW) instead of entering the gradient (Adam).
Status UpdateAdam(const ReferenceArgs& args, bool decoupled);

}  // namespace tenon

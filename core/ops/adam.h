#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// What Adam and AdamW share; builtin/adam.cc and builtin/adam_w.cc state the formulas.

void DefineAdam(OpRegistry& ops, const char* type, double default_decay, ReferenceFn reference);

// `decoupled`: weight decay shrinks the parameters themselves (AdamW) instead of entering the gradient (Adam).
Status UpdateAdam(const ReferenceArgs& args, bool decoupled);

}  // namespace tenon

#pragma once

#include <string>

#include "core/ops/op_def.h"
#include "tenon/abi/op.h"

namespace tenon {

// The gradient of a plugin's operator in one of its two forms. `def` and what it points to live as long as the library;
// `file` names the library in messages. `ops` holds the backward operator and outlives the result.
GradientFn PairedGradient(const tenon_operator_def* def, const OpDef* op, const OpRegistry* ops, std::string file);
GradientFn BuiltGradient(const tenon_operator_def* def, const OpDef* op, std::string file);

}  // namespace tenon

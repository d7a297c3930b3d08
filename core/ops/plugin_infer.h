#pragma once

#include <string>

#include "core/ops/op_def.h"
#include "tenon/abi/op.h"

namespace tenon {

// The shape and type rule of a plugin's operator: its callback through the table tenon_infer_api, with the core's own dim
// algebra. `def` and what it points to live as long as the library; `file` names the library in messages.
InferFn PluginInfer(const tenon_operator_def* def, const OpDef* op, std::string file);

}  // namespace tenon

#pragma once

#include <string>

#include "core/ops/op_def.h"
#include "tenon/abi/op.h"

namespace tenon {

// Adds the operators that a plugin defines (tenon.op, list_operators) to `ops`, which they then serve like the built-in
// ones: shape rule, gradient, attributes; their kernels come from plugins alone. `instance` may be null. `file` names the
// library in messages; a definition that is not sound is an error that names it and the operator.
Status AddPluginOperators(const tenon_op_vtable& table, tenon_plugin* instance, const std::string& file,
                          OpRegistry& ops);

}  // namespace tenon

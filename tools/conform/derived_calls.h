// Calls of operators that the kit has no table for: from the operator's own definition.
#pragma once

#include "tools/conform/op_samples.h"

namespace tenon::conform {

// Calls that the definition allows: types by its groups, shapes by trying small ones until its rule takes them, attributes
// by their defaults, whole numbers as indices 0 and 1. At most three, of different ranks. None when an attribute without a
// default is more than a number, or the rule takes no shape that was tried. What a kernel wants of values no definition
// says: a call may still be refused when it runs.
std::vector<OpCall> DerivedCalls(const OpDef& def, DType dtype);

}  // namespace tenon::conform

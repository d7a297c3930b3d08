#pragma once

#include <optional>
#include <string>

#include "core/config/node.h"
#include "core/ops/op_def.h"

namespace tenon {

// A tensor as a run file writes it: a number, true or false for a scalar, lists within lists of equal length, or
// {dtype: int32, values: ..}. Without a dtype it has `wanted`; without that, true and false are bool, whole numbers int64
// and others float32. `what` names the value in errors ("Slice input 'starts'"), which have the place.
Result<Tensor> ReadTensor(const ConfigNode& node, std::optional<DType> wanted, const std::string& what);

// The value of an operator's attribute. true and false are 1 and 0; `to` and `dtype` may be names ("float16").
Result<AttrValue> ReadAttribute(const ConfigNode& node, const AttrDef& attr, const std::string& what);

}  // namespace tenon

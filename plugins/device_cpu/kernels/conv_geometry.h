// Windows of convolutions and pools, read from attributes.
#pragma once

#include <string>

#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {

// Windows as the attributes say; the sizes of the tensors come with the plan.
struct ConvWindows {
  ConvPoolShape shape;  // everything but n, c, h, w, oc, kh, kw, relu
};

// Attribute names are prefix + name. Refuses what the direct routines do not do, with a reason.
bool SupportsConv(const sdk::Attributes& attributes, const char* prefix, sdk::Value x, sdk::Value w, sdk::Reason& reason);
bool SupportsPool(const sdk::Attributes& attributes, const char* prefix, sdk::Reason& reason);

// pool_prefix: null when there is no pool.
ConvWindows ReadWindows(const sdk::Attributes& attributes, const char* conv_prefix, const char* pool_prefix);
ConvPoolShape ShapeOf(const ConvWindows& windows, sdk::Dims x, sdk::Dims w);

}  // namespace tenon::cpu

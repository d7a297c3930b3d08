// Windows of convolutions and pools, read from attributes.
#pragma once

#include <string>

#include "plugins/device_cpu/plugin.h"

namespace tenon::cpu {

// Windows as the attributes say; the sizes of the tensors come with the plan.
struct ConvWindows {
  ConvPoolShape shape;  // everything but n, c, h, w, oc, kh, kw, relu
  int64_t group = 1;
};

// Attribute names are prefix + name. Refuses what the direct routines do not do, with a reason.
bool SupportsConv(const sdk::Attributes& attributes, const char* prefix, sdk::Value x, sdk::Value w,
                  sdk::Reason& reason);
bool SupportsPool(const sdk::Attributes& attributes, const char* prefix, sdk::Reason& reason);

// pool_prefix: null when there is no pool. rank: of the tensors, 3 or 4; lines of rank 3 are images of height 1.
ConvWindows ReadWindows(const sdk::Attributes& attributes, const char* conv_prefix, const char* pool_prefix,
                        uint32_t rank);
// The shape of one group.
ConvPoolShape ShapeOf(const ConvWindows& windows, sdk::Dims x, sdk::Dims w);

Strides4 ConvStridesOf(sdk::Value value);

}  // namespace tenon::cpu

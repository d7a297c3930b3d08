#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// Attribute `reduction` of losses: one number a position, their sum, or their mean.
enum class LossReduction { kNone, kSum, kMean };

inline Result<LossReduction> LossReductionOf(const Attributes& attrs) {
  const std::string& text = attrs.Text("reduction");
  if (text == "none") return LossReduction::kNone;
  if (text == "sum") return LossReduction::kSum;
  if (text == "mean") return LossReduction::kMean;
  return InvalidArgument("reduction is '{}'; it can be none, sum or mean.", text);
}

}  // namespace tenon

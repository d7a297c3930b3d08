#pragma once

#include <string>
#include <vector>

#include "core/passes/pass.h"
#include "core/train/amp_config.h"

namespace tenon {

// The precision that a run asks for, as passes take it; `exact_layers` compute in float32.
passes::Precision PrecisionOf(const AmpConfig& amp, const std::vector<std::string>& exact_layers);

}  // namespace tenon

#pragma once

#include "core/passes/pass.h"
#include "core/train/amp_config.h"

namespace tenon {

// The precision that a run asks for, as passes take it.
passes::Precision PrecisionOf(const AmpConfig& amp);

}  // namespace tenon

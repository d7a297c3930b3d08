#pragma once

#include "core/passes/pass.h"
#include "core/train/run_config.h"

namespace tenon {

// The optimiser operator that a configuration names, with its states called as in MindSpore's checkpoints.
passes::UpdateRule UpdateRuleOf(const OptimizerConfig& config);

}  // namespace tenon

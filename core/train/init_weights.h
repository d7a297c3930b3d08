#pragma once

#include <map>
#include <string>

#include "core/train/initializer.h"
#include "core/train/run_summary.h"
#include "core/train/train_config.h"

namespace tenon {

// First values by name, in place of those that a network starts with.
using FirstValues = std::map<std::string, Tensor>;

// Reads `init_from` and matches it with the variables of the network. What did not fit is counted in the summary.
Result<FirstValues> LoadFirstValues(const InitFromConfig& config, const std::map<std::string, InitialTensor>& variables,
                                    RunSummary* summary);

}  // namespace tenon

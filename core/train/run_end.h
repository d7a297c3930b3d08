#pragma once

#include <string>
#include <vector>

#include "core/train/checkpoint_folder.h"
#include "core/train/loss_scaler.h"
#include "core/train/run_position.h"

namespace tenon {

// A run of so many steps, all of which the scaler skipped, has trained nothing.
Status CheckTrained(std::int64_t steps, const LossScaler& scaler);

// What to tell of skipped steps; empty when there were none.
std::string DescribeSkipped(std::int64_t steps, const LossScaler& scaler);

// How a stopped run goes on: with the command that started it, from the newest checkpoint of its folder; says so when that
// is older than `at`, or when there is none.
std::string DescribeGoingOn(const std::vector<std::string>& command, const std::string& folder, const RunPosition& at,
                            const Result<FoundCheckpoint>& newest);

}  // namespace tenon

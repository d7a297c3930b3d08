#pragma once

#include "core/comm/rank.h"
#include "core/train/run_config.h"

namespace tenon {

// True when a launcher has started this job again and an earlier start of it has left a checkpoint in the output folder:
// then the run goes on from it, as with --resume. Checkpoints that are older than the job are those of another run. All
// ranks see the same, since none writes before all have met.
bool GoesOnAfterRestart(const RunConfig& config, const Rank& rank);

}  // namespace tenon

#pragma once

#include <string>

#include "core/train/checkpoint_folder.h"
#include "core/train/run_ranks.h"

namespace tenon {

// Checkpoints of a run whose ranks may be several: one rank reads the folder and writes into it, and all have the same file.
// `ranks` null: there is one rank.

// The checkpoint at `path`, or the newest in the folder that can be used where that is empty. The first rank chooses; each loads
// it for itself, so the file must be where all hosts see it.
Result<FoundCheckpoint> LoadForAll(const CheckpointFolder& folder, const std::string& path, RunRanks* ranks);

// The first rank saves while the others wait, so that none goes on before the file is complete. The path; on the other ranks
// empty.
Result<std::string> SaveForAll(const CheckpointFolder& folder, const RunState& state, RunRanks* ranks);

}  // namespace tenon

#pragma once

#include <map>
#include <span>
#include <string>

#include "core/base/status.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_match.h"

namespace tenon {

// A file that gives a network its first weights (init_from of a run file).
struct InitFrom {
  std::string path;  // .ckpt, .safetensors or .npz
  std::map<std::string, std::string> rename;
  bool strict = true;
};

// Reads the tensors of such a file.
Result<Checkpoint> LoadWeights(const std::string& path);

// Matches a file with the parameters of a network. What belongs to a run (optimiser, step, seed) is passed over; else
// as MatchTensors. The tensors of the report belong to `weights`.
Result<MatchReport> MatchWeights(const Checkpoint& weights, std::span<const TensorTarget> parameters,
                                 const InitFrom& from);

}  // namespace tenon

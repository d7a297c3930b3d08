#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_match.h"

namespace tenon {

// Everything that a run needs to go on as if it had never stopped: equal states give equal files. No time, path or run
// length belongs here.
struct RunState {
  std::vector<NamedTensor> parameters;       // with running statistics
  std::vector<NamedTensor> optimizer_state;  // named by OptimizerStateName
  std::int64_t epoch = 0;                    // the current one, from 1; 0 before the first step
  std::int64_t step_in_epoch = 0;            // steps done in it; at its end the number of its steps
  std::int64_t global_step = 0;              // steps done in all
  std::int64_t seed = 0;
  double learning_rate = 0;        // of the last step, for people and MindSpore; a run computes its own
  std::optional<double> momentum;  // of optimisers that have it, likewise
  struct Scaler {                  // of mixed precision
    double scale = 1;
    std::int64_t good_steps = 0;  // since the last overflow or change
    std::int64_t skipped_steps = 0;
  };
  std::optional<Scaler> scaler;
  std::vector<NamedTensor> extra;  // what else the loop keeps; names as "train.<what>", so that they are told apart
};

// Name of the optimiser's tensor for a parameter, as MindSpore names it: slot "momentum" -> "moments.<parameter>",
// "moment1" and "moment2" -> "moment1.<parameter>", "moment2.<parameter>"; other slots likewise.
std::string OptimizerStateName(std::string_view slot, std::string_view parameter);

// Names that are part of the state of a run, and no parameters.
bool IsRunScalarName(std::string_view name);       // global_step, learning_rate, epoch_num, ..., "train.*"
bool IsOptimizerStateName(std::string_view name);  // "moments.*", "moment1.*", ...; also those of MindSpore

// File content in the order that MindSpore writes: parameters, global_step, learning rate and momentum, the optimiser's
// tensors, then scalars.
Checkpoint ToCheckpoint(const RunState& state);

// The scalars of a state (everything but parameters and optimizer_state, which MatchTensors finds). An error names what
// is absent: a file of another program holds weights only and cannot continue a run.
Result<RunState> ReadRunScalars(const Checkpoint& checkpoint);

}  // namespace tenon

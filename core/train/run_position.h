#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/train/checkpoint_state.h"
#include "core/train/early_stop.h"
#include "core/train/loss_scaler.h"
#include "core/train/run_config.h"
#include "core/train/step_runner.h"

namespace tenon {

// Where a run stands, beside its tensors.
struct RunPosition {
  std::int64_t epoch = 1;                           // the current one, from 1
  std::int64_t step_in_epoch = 0, global_step = 0;  // steps done
  double loss_sum = 0;                              // of the epoch, weighted by what each step counts
  double loss_weight = 0;
  double learning_rate = 0;  // of the last step

  std::string Name() const;                  // "3_120", as in the names of checkpoints
  std::optional<double> train_loss() const;  // nothing when no step of the epoch was counted
  void NextEpoch();
};

// Everything a checkpoint holds; `stop` may be null. Nothing in it depends on the number of ranks but for their samples a
// step, `ranks * data.batch`.
Result<RunState> CaptureRun(const RunConfig& config, const RunPosition& position, StepRunner& runner,
                            const LossScaler& scaler, const EarlyStop* stop, std::int64_t ranks);

// The position of a checkpoint of the same run. Refuses another seed, another number of samples a step or another
// accumulation: the steps would differ. Another number of ranks with the same samples a step goes on with what was left.
Result<RunPosition> PositionOf(const RunConfig& config, const RunState& state, std::int64_t ranks);
// Refuses a checkpoint whose run scaled its loss when this one does not, and the other way round.
Status RestoreScaler(const RunState& state, LossScaler* scaler);
// Best value and patience of a checkpoint; nothing where it has none.
void RestoreEarlyStop(const RunState& state, EarlyStop* stop);

// Puts the tensors of a checkpoint into a prepared runner; lenient takes what fits.
Result<MatchReport> RestoreTensors(const Checkpoint& checkpoint, StepRunner& runner, bool lenient);

}  // namespace tenon

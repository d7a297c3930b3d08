#pragma once

#include <optional>

#include "core/exec/gradient_exchange.h"
#include "core/train/step_runner.h"

namespace tenon {

// What a step has found over its batches: its loss, whether something was not finite, the norm of its gradients; with
// several ranks also what all of them have found.
class StepOutcome {
 public:
  // `exchange`: of a run with several ranks, must outlive this; else null.
  explicit StepOutcome(exec::GradientExchange* exchange) : exchange_(exchange) {}

  // A batch of a step; with the first one what the step before has found is forgotten.
  void Begin(const StepPart& part);
  // The share of a batch in the loss of the step. After the last one begins the exchange of the step, in which the other
  // ranks learn with the gradients what this one has found.
  Status AddLoss(const StepPart& part, double share);
  // After the first gradients have come: what all ranks have found. No rank updates where one has seen a loss or sums that
  // are not finite, and none where all labels of the step are ignored.
  Status ReadTotals();

  void NoteOverflow() { overflowed_ = true; }
  void NoteGradientNorm(std::optional<double> norm) { gradient_norm_ = norm; }

  bool overflowed() const { return overflowed_; }
  std::optional<double> gradient_norm() const { return gradient_norm_; }
  const exec::StepTotals& totals() const { return totals_; }

 private:
  exec::GradientExchange* exchange_;
  double loss_ = 0;  // as far as this rank has seen it
  bool overflowed_ = false;
  std::optional<double> gradient_norm_;
  exec::StepTotals totals_;
};

}  // namespace tenon

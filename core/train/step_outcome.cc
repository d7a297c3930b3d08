#include "core/train/step_outcome.h"

#include <cmath>

namespace tenon {

void StepOutcome::Begin(const StepPart& part) {
  if (!part.first) return;
  loss_ = 0;
  overflowed_ = false;
  gradient_norm_.reset();
}

Status StepOutcome::AddLoss(const StepPart& part, double share) {
  loss_ += share;
  if (exchange_ == nullptr || !part.last) return {};
  return exchange_->Begin({loss_, overflowed_ ? 1.0 : 0.0, part.stop ? 1.0 : 0.0, part.counted}, part.expected);
}

Status StepOutcome::ReadTotals() {
  if (exchange_ == nullptr) return {};
  TENON_ASSIGN(totals_, exchange_->Totals());
  const bool nothing_counts = totals_.counted == 0;
  overflowed_ = overflowed_ || totals_.overflow != 0 || !std::isfinite(totals_.loss) || nothing_counts;
  return {};
}

}  // namespace tenon

#include "core/train/local_steps.h"

#include <utility>

namespace tenon {

Result<LocalSteps::Seen> LocalSteps::Meet(RunRanks& ranks, StepRunner& runner, bool stop, std::int64_t global_step) {
  if (std::exchange(met_at_, global_step) == global_step) return Seen();
  TENON_TRY(ranks.AverageVariables(runner.variables(), runner.ParameterNames()));
  TENON_TRY(ranks.AverageVariables(runner.variables(), runner.OptimizerStateNames()));
  double sums[] = {seen_.loss, seen_.weight, stop ? 1.0 : 0.0};
  TENON_TRY_WHILE(ranks.host().AllReduceNow(std::span<double>(sums)), "adding up what the ranks have seen");
  seen_ = Seen();
  return Seen{sums[0], sums[1], sums[2]};
}

}  // namespace tenon

#include "core/train/evaluation.h"

#include "core/train/loss.h"

namespace tenon {

namespace {

Status AddAll(StepRunner& runner, Loader& loader, const LossConfig& loss, MetricSet* set) {
  TENON_TRY(loader.Start(0));
  const auto next = [&]() -> Result<const Batch*> {
    const ActivityScope wait(runner.variables().device().activity(), ActivityKind::kDataWait);
    return loader.Next();
  };
  while (true) {
    TENON_ASSIGN(const Batch* batch, next());
    if (batch == nullptr) return {};
    TENON_ASSIGN(const StepRunner::Evaluation result, runner.Evaluate(*batch));
    TENON_TRY(set->Add(result, *batch, CountedWeight(loss, batch->labels)));
  }
}

}  // namespace

Status SumOverRanks(Communicator& ranks, MetricSet* set) {
  const std::vector<double> mine = set->Sums();
  TENON_ASSIGN_WHILE(const std::vector<double> all, ranks.AllGatherNow(std::span(mine)),
                     "adding up the metrics of {} ranks", ranks.size());
  std::vector<double> sums(mine.size());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
  return set->SetSums(sums);
}

Result<MetricSet> EvaluateAll(StepRunner& runner, Loader& loader, const LossConfig& loss, const MetricPlan& plan,
                              Communicator* ranks) {
  MetricSet set(plan.names, plan.classes, plan.ignored);
  TENON_TRY(AddAll(runner, loader, loss, &set));
  if (ranks != nullptr) TENON_TRY(SumOverRanks(*ranks, &set));
  return set;
}

}  // namespace tenon

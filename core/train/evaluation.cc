#include "core/train/evaluation.h"

#include "core/train/loss.h"

namespace tenon {

Result<MetricSet> EvaluateAll(StepRunner& runner, Loader& loader, const LossConfig& loss,
                              const std::vector<std::string>& metrics) {
  MetricSet set(metrics);
  TENON_TRY(loader.Start(0));
  const auto next = [&]() -> Result<const Batch*> {
    const ActivityScope wait(runner.variables().device().activity(), ActivityKind::kDataWait);
    return loader.Next();
  };
  while (true) {
    TENON_ASSIGN(const Batch* batch, next());
    if (batch == nullptr) return set;
    TENON_ASSIGN(const StepRunner::Evaluation result, runner.Evaluate(*batch));
    TENON_TRY(set.Add(result, *batch, CountedWeight(loss, batch->labels)));
  }
}

}  // namespace tenon

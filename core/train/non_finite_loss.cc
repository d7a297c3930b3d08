#include "core/train/non_finite_loss.h"

#include <algorithm>
#include <cmath>

#include "core/debug/non_finite.h"

namespace tenon {
namespace {

Status CheckPart(const Tensor& tensor, std::int64_t samples, const char* what) {
  const std::int64_t bad = IsFloating(tensor.dtype()) ? FirstNonFinite(tensor) : -1;
  if (bad < 0) return {};
  const std::int64_t each = std::max<std::int64_t>(1, tensor.elements() / std::max<std::int64_t>(1, samples));
  return Error(Code::kOutOfRange, "The data are not finite: element {} of the {} {} of the batch.", bad % each, what,
               bad / each);
}

Status FindNonFiniteInput(const Batch& batch, const TrainedNetwork& network) {
  TENON_TRY(CheckPart(batch.samples, batch.count, "sample"));
  TENON_TRY(CheckPart(batch.labels, batch.count, "label of sample"));
  for (const std::string& name : network.parameter_names()) {
    TENON_ASSIGN(const Tensor value, network.variables().Get(name));
    const std::int64_t bad = FirstNonFinite(value);
    if (bad < 0) continue;
    return Error(Code::kAborted,
                 "Parameter '{}' is not finite already (element {}): an earlier update made it so. A smaller "
                 "optimizer.lr may help.",
                 name, bad);
  }
  return {};
}

}  // namespace

Status ExplainNonFiniteLoss(const StepPart& part, double loss, const Batch& batch, const TrainedNetwork& network,
                            const std::function<Status(exec::StepObserver& observer)>& run_again) {
  const std::string doing = fmt::format("training step {} (the loss is {})", part.step + 1,
                                        std::isnan(loss) ? std::string("not a number") : fmt::format("{}", loss));
  TENON_TRY_WHILE(FindNonFiniteInput(batch, network), "{}", doing);
  NonFiniteFinder finder;
  TENON_TRY_WHILE(run_again(finder), "{}", doing);
  return Error(Code::kAborted, "The loss is {}, but a second run of the same step is finite.", loss).While(doing);
}

}  // namespace tenon

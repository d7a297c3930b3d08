#include "core/train/evaluation.h"

#include <algorithm>

namespace tenon {
namespace {

std::int64_t CountRight(const Tensor& output, const Tensor& labels) {
  const std::int64_t samples = labels.elements();
  const std::int64_t classes = samples == 0 ? 0 : output.elements() / samples;
  std::int64_t right = 0;
  ForFloating(output.dtype(), [&]<class T>() {
    const T* scores = output.data<T>();
    for (std::int64_t i = 0; i < samples; ++i) {
      const T* row = scores + i * classes;
      const auto best = std::max_element(row, row + classes,
                                         [](T a, T b) { return static_cast<double>(a) < static_cast<double>(b); });
      if (best - row == labels.data<std::int64_t>()[i]) ++right;
    }
  });
  return right;
}

}  // namespace

Result<std::map<std::string, double>> EvaluateAll(StepRunner& runner, Loader& loader,
                                                  const std::vector<std::string>& metrics) {
  const auto wanted = [&](const char* name) {
    return std::find(metrics.begin(), metrics.end(), name) != metrics.end();
  };
  double loss = 0;
  std::int64_t samples = 0, labels = 0, right = 0;
  TENON_TRY(loader.Start(0));
  while (true) {
    TENON_ASSIGN(const Batch* batch, loader.Next());
    if (batch == nullptr) break;
    TENON_ASSIGN(const StepRunner::Evaluation result, runner.Evaluate(*batch));
    loss += result.loss * static_cast<double>(batch->count);
    samples += batch->count;
    labels += batch->labels.elements();
    if (wanted("accuracy") && batch->labels.dtype() == DType::kI64) right += CountRight(*result.output, batch->labels);
  }
  std::map<std::string, double> values;
  const auto total = static_cast<double>(std::max<std::int64_t>(samples, 1));
  if (wanted("loss")) values["loss"] = loss / total;
  if (wanted("accuracy"))
    values["accuracy"] = static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(labels, 1));
  return values;
}

}  // namespace tenon

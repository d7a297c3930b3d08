#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/platform/append_file.h"

namespace tenon {

struct Metric {
  std::string_view name;  // key in the file: "test_loss", "test_accuracy", ...
  double value = 0;
};

// metrics.jsonl of a run: a JSON object a line, each written at once. A value that is not finite becomes null. One
// thread at a time; after the first lines nothing is allocated.
class MetricsFile {
 public:
  // Without `resume_step` an existing file is emptied. With it the file goes on: lines of later steps and a line cut by
  // a sudden end are dropped, since the resumed run writes them again. An evaluation that is its last line, repeated by a
  // run that had ended, is not written twice.
  static Result<MetricsFile> Open(const std::string& path, std::optional<std::int64_t> resume_step = std::nullopt);

  MetricsFile() = default;  // writes nothing

  // {"step": 10, "epoch": 1, "loss": 0.5, "lr": 0.02, "step_ms": 0.4}
  // and "grad_norm" where there is one.
  Status WriteStep(std::int64_t step, std::int64_t epoch, double loss, double lr, double step_ms,
                   std::optional<double> grad_norm = std::nullopt);
  // {"step": 40, "epoch": 1, "test_loss": 0.3, "test_accuracy": 0.9, ...}
  Status WriteEvaluation(std::int64_t step, std::int64_t epoch, std::span<const Metric> metrics);

 private:
  void Begin(std::int64_t step, std::int64_t epoch);
  void Add(std::string_view name, double value);
  Status End();

  AppendFile file_;
  std::string line_, last_kept_;
};

// Adds `value` as JSON: the shortest text that gives the same float or double again, or null when it is not finite.
void AppendJsonNumber(std::string* out, double value);

}  // namespace tenon

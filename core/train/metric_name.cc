#include "core/train/metric_name.h"

#include <algorithm>

#include "core/base/number.h"

namespace tenon {
namespace {

constexpr const char* kNames[] = {"loss",     "accuracy",         "perplexity", "f1_macro",
                                  "f1_micro", "confusion_matrix", "mae",        "mse"};
constexpr const char* kLowIsBetter[] = {"loss", "perplexity", "mae", "mse"};
constexpr std::string_view kTop = "top_";

}  // namespace

bool IsMetricName(const std::string& name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) || TopKOf(name);
}

std::string MetricNames() {
  std::string text;
  for (const char* name : kNames) text += (text.empty() ? "" : ", ") + std::string(name);
  return text + " or top_K (such as top_5)";
}

std::optional<std::int64_t> TopKOf(const std::string& name) {
  if (!name.starts_with(kTop)) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(kTop.size());
  const auto k = ParseNumber<std::int64_t>(digits);
  return k && *k >= 1 && digits.front() != '0' ? k : std::nullopt;
}

bool LowerIsBetter(const std::string& name) {
  return std::find(std::begin(kLowIsBetter), std::end(kLowIsBetter), name) != std::end(kLowIsBetter);
}

}  // namespace tenon

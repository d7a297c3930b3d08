#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenon {

// Names that `eval.metrics` may hold: loss, accuracy, top_K ...
bool IsMetricName(const std::string& name);
// All of them, for messages: "loss, accuracy, ... or top_K (such as top_5)".
std::string MetricNames();
// 5 of "top_5"; nothing of another name.
std::optional<std::int64_t> TopKOf(const std::string& name);
// Whether lower values are better.
bool LowerIsBetter(const std::string& name);

}  // namespace tenon

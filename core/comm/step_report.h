#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

class KeyValueStore;

// Where the time of a rank goes: means per step over the last steps, in nanoseconds.
struct StepReport {
  std::uint32_t rank = 0;
  std::int64_t step = 0;     // the last of them
  std::int64_t data_ns = 0;  // waiting for a batch
  std::int64_t compute_ns = 0;
  std::int64_t wait_ns = 0;  // for other ranks and the network, not hidden behind computing

  std::int64_t own_ns() const { return data_ns + compute_ns; }
  std::int64_t step_ns() const { return own_ns() + wait_ns; }
};

inline constexpr char kStepReportPrefix[] = "tenon/step_report/";

// Puts the report of a rank where the launcher reads it.
Status PutStepReport(KeyValueStore& store, const StepReport& report);

std::string EncodeStepReport(const StepReport& report);
Result<StepReport> DecodeStepReport(const std::string& text);

// What is worth telling of the last reports of the ranks: a rank that needs more than 1.5 times the median for its own
// work, with its share of data, computing and waiting; else ranks that spend more than 20 % of a step on communication.
// Empty when there is nothing, or less than two ranks have reported.
std::vector<std::string> NotableSteps(std::span<const StepReport> reports);

}  // namespace tenon

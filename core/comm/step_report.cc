#include "core/comm/step_report.h"

#include <algorithm>
#include <sstream>

#include "core/plugin/host_handles.h"

namespace tenon {
namespace {

constexpr double kSlow = 1.5;
constexpr double kMuchCommunication = 0.2;

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::int64_t MedianOwn(std::span<const StepReport> reports) {
  std::vector<std::int64_t> own;
  for (const StepReport& report : reports) own.push_back(report.own_ns());
  // The lower of two in the middle: with two ranks the slower one is seen.
  const auto middle = own.begin() + static_cast<std::ptrdiff_t>((own.size() - 1) / 2);
  std::nth_element(own.begin(), middle, own.end());
  return *middle;
}

}  // namespace

Status PutStepReport(KeyValueStore& store, const StepReport& report) {
  return store.Put(kStepReportPrefix + std::to_string(report.rank), EncodeStepReport(report));
}

std::string EncodeStepReport(const StepReport& report) {
  return fmt::format("{} {} {} {} {}", report.rank, report.step, report.data_ns, report.compute_ns, report.wait_ns);
}

Result<StepReport> DecodeStepReport(const std::string& text) {
  std::istringstream in(text);
  StepReport report;
  in >> report.rank >> report.step >> report.data_ns >> report.compute_ns >> report.wait_ns;
  if (!in) return InvalidArgument("'{}' is not a step report.", text);
  return report;
}

std::vector<std::string> NotableSteps(std::span<const StepReport> reports) {
  std::vector<std::string> lines;
  if (reports.size() < 2) return lines;
  const std::int64_t median = MedianOwn(reports);
  for (const StepReport& report : reports) {
    const double times = static_cast<double>(report.own_ns()) / static_cast<double>(std::max<std::int64_t>(median, 1));
    if (times <= kSlow) continue;
    lines.push_back(
        fmt::format("rank {} is slow: {:.1f} ms of its own per step, {:.1f} times the median of {:.1f} ms (data {:.1f} "
                    "ms, compute {:.1f} "
                    "ms, waiting {:.1f} ms), at step {}. The others wait for it.",
                    report.rank, Ms(report.own_ns()), times, Ms(median), Ms(report.data_ns), Ms(report.compute_ns),
                    Ms(report.wait_ns), report.step));
  }
  if (!lines.empty()) return lines;
  for (const StepReport& report : reports) {
    const double share =
        static_cast<double>(report.wait_ns) / static_cast<double>(std::max<std::int64_t>(report.step_ns(), 1));
    if (share <= kMuchCommunication) continue;
    lines.push_back(
        fmt::format("rank {} spends {:.0f} % of a step on communication ({:.1f} of {:.1f} ms, at step {}). More "
                    "than 20 % is worth looking at.",
                    report.rank, share * 100, Ms(report.wait_ns), Ms(report.step_ns()), report.step));
  }
  return lines;
}

}  // namespace tenon

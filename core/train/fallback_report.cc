#include "core/train/fallback_report.h"

#include <algorithm>
#include <set>

#include "core/base/log.h"
#include "core/base/text.h"

namespace tenon {

void FallbackList::Note(const exec::Fallback& fallback) {
  const auto same = [&](const exec::Fallback& known) { return known.node == fallback.node && known.op == fallback.op; };
  if (std::any_of(noted_.begin(), noted_.end(), same)) return;
  noted_.push_back(fallback);
  if (policy_ == FallbackPolicy::kWarn)
    TENON_LOG(kWarning, "exec", "node '{}' ({}) runs on the host: {}", fallback.node, fallback.op, fallback.reason);
}

void FallbackList::AddTo(RunSummary& summary) const {
  for (const exec::Fallback& fallback : noted_)
    summary.fallbacks.push_back({fallback.node, fallback.op, "host", fallback.reason});
}

std::string DescribeFallbacks(const RunSummary& summary) {
  if (summary.fallbacks.empty()) return "";
  std::set<std::string> ops;
  for (const RunSummary::Fallback& fallback : summary.fallbacks) ops.insert(fallback.op);
  const std::size_t nodes = summary.fallbacks.size();
  return fmt::format("{} {} ran on the host, for which device '{}' has no kernel: {}.", nodes,
                     nodes == 1 ? "node" : "nodes", summary.device,
                     Join(std::vector<std::string>(ops.begin(), ops.end()), ", "));
}

}  // namespace tenon

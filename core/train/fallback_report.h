#pragma once

#include <string>
#include <vector>

#include "core/exec/kernel.h"
#include "core/train/run_config.h"
#include "core/train/run_summary.h"

namespace tenon {

// Nodes of a run that have no kernel on its device and run on the host, each told once: under 'fallback: warn' as a warning.
class FallbackList {
 public:
  explicit FallbackList(FallbackPolicy policy) : policy_(policy) {}
  void Note(const exec::Fallback& fallback);
  void AddTo(RunSummary& summary) const;

 private:
  FallbackPolicy policy_;
  std::vector<exec::Fallback> noted_;
};

// "2 nodes ran on the host (…)"; empty when all ran on the device.
std::string DescribeFallbacks(const RunSummary& summary);

}  // namespace tenon

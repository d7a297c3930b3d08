#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/exec/kernel.h"
#include "core/graph/target.h"

namespace tenon::exec {

// The device as passes and the eager executor see it: which kernel runs an operator, in which layouts, and why others do
// not. Candidates are asked from fast to slow; the reference is last, where the host can read the memory or may fall back.
class DeviceTarget final : public graph::Target {
 public:
  static Result<std::unique_ptr<DeviceTarget>> Make(Device& device, const std::vector<const PluginHandle*>& plugins,
                                                    const QueryOptions& options);

  Result<graph::LayoutOffer> Offer(const graph::KernelQuery& query) override;
  Result<std::unique_ptr<graph::PlannedKernel>> Plan(const graph::KernelQuery& query,
                                                     std::span<const graph::LayoutId> inputs,
                                                     std::span<const graph::LayoutId> outputs) override;
  Result<std::int64_t> BytesOf(const ValueType& type, graph::LayoutId layout) override;
  double ReorderCost(const ValueType& type, graph::LayoutId from, graph::LayoutId to) override;
  std::string LayoutName(graph::LayoutId layout) const override { return device_.LayoutName(layout); }
  const std::vector<graph::FusionRule>& Fusions() const override { return fusions_; }

  Device& device() { return device_; }
  const KernelCatalog& catalog() const { return catalog_; }
  // "device_cpu.so/conv skipped: group is 3" per refused candidate of an operator, in the order asked.
  std::vector<std::string> Refusals(const graph::KernelQuery& query);

 private:
  DeviceTarget(Device& device, const QueryOptions& options) : device_(device), options_(options) {}
  // The kernel that would run the query, or null for the reference; refused candidates are added to `refusals`.
  const KernelEntry* Select(const graph::KernelQuery& query, std::vector<std::string>* refusals);
  // The reference in the place of a kernel; an error says why there is neither.
  Result<std::unique_ptr<graph::PlannedKernel>> Reference(const graph::KernelQuery& query,
                                                          const std::vector<std::string>& refusals) const;
  Status NoKernel(const graph::KernelQuery& query, const std::vector<std::string>& refusals) const;

  Device& device_;
  QueryOptions options_;
  KernelCatalog catalog_;
  std::vector<graph::FusionRule> fusions_;
};

}  // namespace tenon::exec

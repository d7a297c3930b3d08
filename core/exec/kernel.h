#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/exec/kernel_catalog.h"
#include "core/graph/target.h"

namespace tenon::exec {

// A kernel instance of a plugin, planned for fixed shapes and layouts.
class PluginKernel final : public graph::PlannedKernel {
 public:
  static Result<std::unique_ptr<PluginKernel>> Make(const KernelEntry& entry, const graph::KernelQuery& query,
                                                    std::span<const graph::LayoutId> inputs,
                                                    std::span<const graph::LayoutId> outputs, const Device& device,
                                                    const QueryOptions& options);
  ~PluginKernel() override;
  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }
  const std::vector<graph::InPlaceChoice>& in_place() const override { return in_place_; }
  const std::string& name() const override { return entry_.name; }
  bool is_reference() const override { return false; }
  bool no_op() const { return no_op_; }
  // Does it what math: high permits?
  bool math_high() const { return (entry_.def->traits & TENON_TRAIT_MATH_HIGH) != 0; }
  std::uint32_t math_flags() const { return math_flags_; }  // that it was planned with

  tenon_kernel* handle() const { return kernel_; }
  const tenon_kernel_vtable& vtable() const { return entry_.vtable; }
  const std::string& plugin_id() const { return entry_.plugin->id; }

 private:
  explicit PluginKernel(const KernelEntry& entry) : entry_(entry) {}

  KernelEntry entry_;
  tenon_kernel* kernel_ = nullptr;
  std::int64_t workspace_bytes_ = 0;
  bool no_op_ = false;
  std::uint32_t math_flags_ = 0;
  std::vector<graph::InPlaceChoice> in_place_;
};

// The operator's own reference on host-readable memory: the normal last choice, counted in the summary. With a reason it
// is a fallback: the device has no kernel, so operands are copied to the host and results back.
class ReferenceKernel final : public graph::PlannedKernel {
 public:
  ReferenceKernel(const OpDef& def, std::size_t outputs, std::string fallback_reason = "");
  std::int64_t workspace_bytes() const override { return 0; }
  const std::vector<graph::InPlaceChoice>& in_place() const override { return in_place_; }
  const std::string& name() const override;
  bool is_reference() const override { return true; }
  const OpDef& def() const { return def_; }
  bool is_fallback() const { return !fallback_reason_.empty(); }
  const std::string& fallback_reason() const { return fallback_reason_; }

 private:
  const OpDef& def_;
  std::string fallback_reason_;
  std::vector<graph::InPlaceChoice> in_place_;
};

// A node that runs on the host because the device has no kernel for it.
struct Fallback {
  std::string node, op, reason;
};

// One call of a kernel, traced when asked for. Plugins must not let an exception out; one that does becomes INTERNAL with
// its text, so that it ends the run and not the process.
std::int32_t ExecuteKernel(std::int32_t (*execute)(tenon_kernel*, const tenon_kernel_call*, tenon_error*),
                           tenon_kernel* kernel, const tenon_kernel_call* call, tenon_error* error);

}  // namespace tenon::exec

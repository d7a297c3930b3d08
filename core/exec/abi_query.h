#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "core/graph/target.h"
#include "core/ops/abi_attributes.h"
#include "tenon/abi/op.h"
#include "tenon/abi/subgraph.h"

namespace tenon::exec {

// Descriptions of values; dims live inside. Layouts are by position, strided when `layouts` is empty; likewise `content`,
// known values (undefined: not known), which must outlive the object.
class AbiValues {
 public:
  AbiValues(std::span<const ValueType> types, const std::vector<bool>& constant,
            std::span<const graph::LayoutId> layouts, std::span<const Tensor> content = {});
  const tenon_value_desc* data() const { return records_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size()); }

 private:
  std::vector<tenon_value_desc> records_;
  std::vector<Shape> shapes_;
  std::vector<tenon_tensor> content_;
};

struct QueryOptions {
  std::uint32_t thread_budget = 1;
  bool training = false;
  bool math_high = false;      // float32 results may lose more digits
  bool host_fallback = false;  // a node without a kernel may run its reference on the host, with copies to and fro
};
std::uint32_t MathFlags(const QueryOptions& options);  // tenon_math_flag

// A kernel query as the plugin ABI has it. Points into `query`, `device` and the options; keep them alive.
class AbiQuery {
 public:
  AbiQuery(const graph::KernelQuery& query, const Device& device, const PluginHandle& asked,
           const QueryOptions& options);
  AbiQuery(const AbiQuery&) = delete;
  AbiQuery& operator=(const AbiQuery&) = delete;
  const tenon_kernel_query& record() const { return record_; }

 private:
  AbiAttributes attributes_;
  AbiValues inputs_, outputs_;
  tenon_kernel_query record_;
};

// Collects the last refusal of a plugin.
class ReasonCatcher {
 public:
  ReasonCatcher();
  ReasonCatcher(const ReasonCatcher&) = delete;
  ReasonCatcher& operator=(const ReasonCatcher&) = delete;
  const tenon_reason_sink* sink() const { return &sink_; }
  const std::string& text() const { return text_; }

 private:
  static void Take(void* user, std::int32_t code, tenon_str text);
  std::string text_;
  tenon_reason_sink sink_;
};

}  // namespace tenon::exec

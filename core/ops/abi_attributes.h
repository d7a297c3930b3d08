#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "core/ops/op_def.h"
#include "tenon/abi/types.h"

namespace tenon {

// Attributes as records of the plugin ABI, sorted by name. Points into `attrs`, which must outlive it. `def` says which
// numbers are flags, dtypes or shapes; it may be null.
class AbiAttributes {
 public:
  explicit AbiAttributes(const Attributes& attrs, const OpDef* def = nullptr);
  const tenon_attribute* data() const { return records_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size()); }
  const tenon_attribute* Find(std::string_view name) const;  // null when absent

 private:
  std::vector<tenon_attribute> records_;
  std::deque<std::vector<tenon_str>> texts_;
  std::deque<tenon_tensor> tensors_;
};

// Value of a record that a plugin wrote, copied. `what` names the attribute in messages.
Result<AttrValue> ReadAbiAttribute(const tenon_attribute& record, std::string_view what);

}  // namespace tenon

// Attributes of a call: what a case gives, completed with the defaults of the operator's definition.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/sdk/sdk.h"
#include "tests/support/json.h"

namespace testing {

class AttributeList {
 public:
  // `given` is the "attr" list of a case: {name, type, value}.
  AttributeList(const tenon_operator_def& definition, const Json* given);
  // `given` are records, whose content is borrowed.
  AttributeList(const tenon_operator_def& definition, const std::vector<tenon_attribute>& given);
  AttributeList(const AttributeList&) = delete;
  AttributeList& operator=(const AttributeList&) = delete;

  const tenon_attribute* data() const { return records_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(records_.size()); }
  const tenon_attribute* Find(std::string_view name) const;

  // Values for expected results; a bool is 0 or 1. Lists of attributes that are not there are empty.
  double Number(std::string_view name, double fallback) const;
  std::string Text(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<double> Numbers(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;

 private:
  void Set(tenon_attribute& record, const Json& value);

  std::vector<tenon_attribute> records_;  // sorted by name
  std::deque<std::string> texts_;
  std::deque<std::vector<tenon_str>> text_lists_;
  std::deque<std::vector<int64_t>> ints_;
  std::deque<std::vector<double>> floats_;
  std::deque<tenon_tensor> tensors_;
};

}  // namespace testing

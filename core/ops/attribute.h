#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace tenon {

// Value of an operator attribute, with the types of ONNX. The order of alternatives is that of AttrType.
using AttrValue = std::variant<std::int64_t, double, std::string, Tensor, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;
enum class AttrType { kInt, kFloat, kText, kTensor, kInts, kFloats, kTexts };

std::string_view NameOf(AttrType type);  // "int", "float", "text", "tensor", "list of ints", ...
inline AttrType TypeOf(const AttrValue& value) { return static_cast<AttrType>(value.index()); }
bool Equal(const AttrValue& a, const AttrValue& b);
// As the graph text writes it: 3, 0.5, "SAME", [1,2], tensor f32[2]{...}.
std::string ToString(const AttrValue& value);

// Attributes of one node, sorted by name. After OpDef::Complete every declared attribute with a default is present, so
// the typed getters below never fail on a checked node.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttrValue>> items);

  void Set(std::string_view name, AttrValue value);
  void Erase(std::string_view name);
  const AttrValue* Find(std::string_view name) const;  // null when absent
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  std::span<const std::pair<std::string, AttrValue>> items() const { return items_; }
  bool operator==(const Attributes& other) const;

  // Require presence and the right type (a bug in the operator's definition otherwise); `fallback` forms do not.
  std::int64_t Int(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t fallback) const;
  double Float(std::string_view name) const;
  double Float(std::string_view name, double fallback) const;
  const std::string& Text(std::string_view name) const;
  std::string Text(std::string_view name, std::string_view fallback) const;
  const std::vector<std::int64_t>& Ints(std::string_view name) const;
  std::vector<std::int64_t> Ints(std::string_view name, std::vector<std::int64_t> fallback) const;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace tenon

#include "core/ops/attribute.h"

#include <algorithm>
#include <cstdlib>

namespace tenon {

std::string_view NameOf(AttrType type) {
  switch (type) {
    case AttrType::kInt:
      return "int";
    case AttrType::kFloat:
      return "float";
    case AttrType::kText:
      return "text";
    case AttrType::kTensor:
      return "tensor";
    case AttrType::kInts:
      return "list of ints";
    case AttrType::kFloats:
      return "list of floats";
    case AttrType::kTexts:
      return "list of texts";
  }
  return "unknown";
}

namespace {

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.bytes())) == 0;
}

std::string Number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

template <class T, class Print>
std::string List(const std::vector<T>& values, Print print) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ",";
    out += print(values[i]);
  }
  return out + "]";
}

std::string TensorText(const Tensor& tensor) {
  std::string out = fmt::format("tensor {}{}{{", ShortNameOf(tensor.dtype()), tensor.shape());
  ForAny(tensor.dtype(), [&]<class T>() {
    const T* values = tensor.data<T>();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (i > 0) out += ",";
      if constexpr (std::is_same_v<T, bool>) {
        out += values[i] ? "1" : "0";
      } else if constexpr (std::is_integral_v<T>) {
        out += std::to_string(values[i]);
      } else if constexpr (std::is_same_v<T, double>) {
        out += fmt::format("{}", values[i]);
      } else {
        out += fmt::format("{}", static_cast<float>(values[i]));
      }
    }
  });
  return out + "}";
}

}  // namespace

bool Equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* tensor = std::get_if<Tensor>(&a)) return SameTensor(*tensor, std::get<Tensor>(b));
  switch (TypeOf(a)) {
    case AttrType::kInt:
      return std::get<std::int64_t>(a) == std::get<std::int64_t>(b);
    case AttrType::kFloat:
      return std::get<double>(a) == std::get<double>(b);
    case AttrType::kText:
      return std::get<std::string>(a) == std::get<std::string>(b);
    case AttrType::kInts:
      return std::get<std::vector<std::int64_t>>(a) == std::get<std::vector<std::int64_t>>(b);
    case AttrType::kFloats:
      return std::get<std::vector<double>>(a) == std::get<std::vector<double>>(b);
    case AttrType::kTexts:
      return std::get<std::vector<std::string>>(a) == std::get<std::vector<std::string>>(b);
    case AttrType::kTensor:
      break;
  }
  return false;
}

std::string ToString(const AttrValue& value) {
  switch (TypeOf(value)) {
    case AttrType::kInt:
      return std::to_string(std::get<std::int64_t>(value));
    case AttrType::kFloat:
      return Number(std::get<double>(value));
    case AttrType::kText:
      return Quoted(std::get<std::string>(value));
    case AttrType::kTensor:
      return TensorText(std::get<Tensor>(value));
    case AttrType::kInts:
      return List(std::get<std::vector<std::int64_t>>(value), [](std::int64_t v) { return std::to_string(v); });
    case AttrType::kFloats:
      return List(std::get<std::vector<double>>(value), Number);
    case AttrType::kTexts:
      return List(std::get<std::vector<std::string>>(value), Quoted);
  }
  return "";
}

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttrValue>> items) {
  for (const auto& item : items) Set(item.first, item.second);
}

void Attributes::Set(std::string_view name, AttrValue value) {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const auto& item, std::string_view key) { return item.first < key; });
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
}

void Attributes::Erase(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

const AttrValue* Attributes::Find(std::string_view name) const {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const auto& item, std::string_view key) { return item.first < key; });
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

bool Attributes::operator==(const Attributes& other) const {
  return std::equal(items_.begin(), items_.end(), other.items_.begin(), other.items_.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && Equal(a.second, b.second); });
}

namespace {

template <class T>
const T& Require(const Attributes& attrs, std::string_view name) {
  const AttrValue* value = attrs.Find(name);
  const T* typed = value ? std::get_if<T>(value) : nullptr;
  if (typed == nullptr) {  // a bug: the node was not completed against its definition
    fmt::print(stderr, "Attribute '{}' was read before the node was checked.\n", name);
    std::abort();
  }
  return *typed;
}

}  // namespace

std::int64_t Attributes::Int(std::string_view name) const { return Require<std::int64_t>(*this, name); }
std::int64_t Attributes::Int(std::string_view name, std::int64_t fallback) const {
  return Has(name) ? Int(name) : fallback;
}
double Attributes::Float(std::string_view name) const { return Require<double>(*this, name); }
double Attributes::Float(std::string_view name, double fallback) const { return Has(name) ? Float(name) : fallback; }
const std::string& Attributes::Text(std::string_view name) const { return Require<std::string>(*this, name); }
std::string Attributes::Text(std::string_view name, std::string_view fallback) const {
  return Has(name) ? Text(name) : std::string(fallback);
}
const std::vector<std::int64_t>& Attributes::Ints(std::string_view name) const {
  return Require<std::vector<std::int64_t>>(*this, name);
}
std::vector<std::int64_t> Attributes::Ints(std::string_view name, std::vector<std::int64_t> fallback) const {
  return Has(name) ? Ints(name) : fallback;
}

}  // namespace tenon

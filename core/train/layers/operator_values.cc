#include "core/train/layers/operator_values.h"

#include <algorithm>
#include <limits>

#include "core/config/scalar.h"

namespace tenon {
namespace {

bool IsTruth(const ConfigNode& node) {
  return node.style() != ScalarStyle::kQuoted && (node.text() == "true" || node.text() == "false");
}

Result<double> Number(const ConfigNode& node, const std::string& what) {
  std::string complaint;
  if (node.style() != ScalarStyle::kQuoted && (node.text() == ".nan" || node.text() == ".NaN"))
    return std::numeric_limits<double>::quiet_NaN();
  const auto value = ReadNumber(node, true, complaint);
  if (!value) return InvalidArgument("{} {}", what, complaint).At(node.place().ToString());
  return *value;
}

Result<std::int64_t> Integer(const ConfigNode& node, const std::string& what) {
  std::string complaint;
  if (IsTruth(node)) return std::int64_t{node.text() == "true" ? 1 : 0};
  const auto value = ReadInteger(node, complaint);
  if (!value) return InvalidArgument("{} {}", what, complaint).At(node.place().ToString());
  return *value;
}

bool IsWhole(const ConfigNode& node) {
  std::string complaint;
  return ReadInteger(node, complaint).has_value();
}

// Lists within lists, as the dims and the scalars in row-major order.
struct Nested {
  Shape shape;
  std::vector<ConfigNode> scalars;
};

Status Flatten(const ConfigNode& node, int depth, Nested& nested, const std::string& what) {
  const bool leaf = depth == nested.shape.rank();
  const bool fits =
      leaf ? node.is_scalar() : node.is_list() && static_cast<std::int64_t>(node.items().size()) == nested.shape[depth];
  if (!fits)
    return InvalidArgument("{} is no tensor: at depth {} it needs {}, but is {}.", what, depth,
                           leaf ? std::string("a number") : fmt::format("a list of {}", nested.shape[depth]),
                           node.is_list() ? fmt::format("a list of {}", node.items().size()) : node.Describe())
        .At(node.place().ToString());
  if (leaf) nested.scalars.push_back(node);
  for (const ConfigNode& item : node.items()) TENON_TRY(Flatten(item, depth + 1, nested, what));
  return {};
}

// The first items give the dims; all others must agree.
Result<Nested> Unnest(const ConfigNode& node, const std::string& what) {
  Nested nested;
  ConfigNode at = node;
  while (at.is_list()) {
    if (nested.shape.rank() == kMaxRank)
      return InvalidArgument("{} has more than {} dims.", what, kMaxRank).At(at.place().ToString());
    nested.shape.push_back(static_cast<std::int64_t>(at.items().size()));
    if (at.items().empty()) break;
    const ConfigNode first = at.items()[0];
    at = first;
  }
  TENON_TRY(Flatten(node, 0, nested, what));
  return nested;
}

DType GuessDType(const Nested& nested) {
  const auto all = [&](bool (*is)(const ConfigNode&)) {
    return std::all_of(nested.scalars.begin(), nested.scalars.end(), is);
  };
  if (!nested.scalars.empty() && all(IsTruth)) return DType::kBool;
  return all(IsWhole) ? DType::kI64 : DType::kF32;
}

Result<Tensor> Filled(const Nested& nested, DType dtype, const std::string& what) {
  if (IsFloating(dtype)) {
    std::vector<double> values;
    for (const ConfigNode& scalar : nested.scalars) {
      TENON_ASSIGN(const double value, Number(scalar, what));
      values.push_back(value);
    }
    return Cast(Tensor::Of<double>(nested.shape, std::span<const double>(values)), dtype);
  }
  std::vector<std::int64_t> values;
  for (const ConfigNode& scalar : nested.scalars) {
    TENON_ASSIGN(const std::int64_t value, Integer(scalar, what));
    values.push_back(value);
    const Tensor fitted = Cast(Cast(Tensor::Scalar(value), dtype), DType::kI64);
    if (*fitted.data<std::int64_t>() != value)
      return InvalidArgument("{} has the value {}, which {} does not hold.", what, value, NameOf(dtype))
          .At(scalar.place().ToString());
  }
  return Cast(Tensor::Of<std::int64_t>(nested.shape, std::span<const std::int64_t>(values)), dtype);
}

Result<DType> ReadDType(const ConfigNode& node, const std::string& what) {
  const auto dtype = ParseDType(node.text());
  if (!dtype || !kAllTypes.Has(*dtype))
    return InvalidArgument("{} is {}; dtypes are {}.", what, node.Describe(), kAllTypes.ToString())
        .At(node.place().ToString());
  return *dtype;
}

template <class T, class Read>
Result<AttrValue> ReadList(const ConfigNode& node, const std::string& what, Read read) {
  std::vector<T> values;
  for (const ConfigNode& item : node.items()) {
    TENON_ASSIGN(const T value, read(item, what));
    values.push_back(value);
  }
  return AttrValue(std::move(values));
}

Result<std::string> Text(const ConfigNode& node, const std::string& what) {
  if (!node.is_scalar())
    return InvalidArgument("{} needs a text, but is {}.", what, node.Describe()).At(node.place().ToString());
  return node.text();
}

}  // namespace

Result<Tensor> ReadTensor(const ConfigNode& node, std::optional<DType> wanted, const std::string& what) {
  if (!node.is_map()) {
    TENON_ASSIGN(const Nested nested, Unnest(node, what));
    return Filled(nested, wanted.value_or(GuessDType(nested)), what);
  }
  const ConfigNode *dtype = node.Find("dtype"), *values = node.Find("values");
  if (dtype == nullptr || values == nullptr || node.entries().size() != 2)
    return InvalidArgument("{} needs {{dtype: .., values: ..}} where it is a map.", what).At(node.place().ToString());
  TENON_ASSIGN(const DType stated, ReadDType(*dtype, what + " dtype"));
  TENON_ASSIGN(const Nested nested, Unnest(*values, what));
  return Filled(nested, stated, what);
}

Result<AttrValue> ReadAttribute(const ConfigNode& node, const AttrDef& attr, const std::string& what) {
  const AttrType type = attr.type;
  const bool list = type == AttrType::kInts || type == AttrType::kFloats || type == AttrType::kTexts;
  if (type != AttrType::kTensor && !(list ? node.is_list() : node.is_scalar()))
    return InvalidArgument("{} is {}; expected a {}.", what, node.Describe(), NameOf(type)).At(node.place().ToString());
  switch (type) {
    case AttrType::kInt: {
      const bool dtype_named = attr.name == "to" || attr.name == "dtype" || attr.meaning == AttrMeaning::kDType;
      if (dtype_named && !IsWhole(node)) {
        TENON_ASSIGN(const DType dtype, ReadDType(node, what));
        return AttrValue(static_cast<std::int64_t>(dtype));
      }
      TENON_ASSIGN(const std::int64_t value, Integer(node, what));
      if (attr.meaning == AttrMeaning::kFlag && value != 0 && value != 1)
        return InvalidArgument("{} is {}; it can be true or false.", what, value).At(node.place().ToString());
      return AttrValue(value);
    }
    case AttrType::kFloat: {
      TENON_ASSIGN(const double value, Number(node, what));
      return AttrValue(value);
    }
    case AttrType::kText:
      return AttrValue(node.text());
    case AttrType::kInts:
      return ReadList<std::int64_t>(node, what, Integer);
    case AttrType::kFloats:
      return ReadList<double>(node, what, Number);
    case AttrType::kTexts:
      return ReadList<std::string>(node, what, Text);
    case AttrType::kTensor:
      break;
  }
  TENON_ASSIGN(Tensor tensor, ReadTensor(node, std::nullopt, what));
  return AttrValue(std::move(tensor));
}

}  // namespace tenon

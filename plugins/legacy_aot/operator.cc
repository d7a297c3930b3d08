#include "plugins/legacy_aot/operator.h"

#include <algorithm>

namespace tenon::aot {
namespace {

constexpr std::string_view kTypeNames[] = {"int", "float", "flag", "text", "ints", "floats", "int_rows", "float_rows"};

uint32_t KindOf(AttributeType type) {
  constexpr uint32_t kKinds[] = {TENON_ATTRIBUTE_INT,    TENON_ATTRIBUTE_FLOAT, TENON_ATTRIBUTE_FLAG,
                                 TENON_ATTRIBUTE_TEXT,   TENON_ATTRIBUTE_INTS,  TENON_ATTRIBUTE_FLOATS,
                                 TENON_ATTRIBUTE_TENSOR, TENON_ATTRIBUTE_TENSOR};
  return kKinds[static_cast<size_t>(type)];
}

tenon_attribute DefaultOf(const AttributeSpec& spec) {
  tenon_attribute value = TENON_INIT(tenon_attribute);
  value.kind = KindOf(spec.type);
  value.i64 = static_cast<int64_t>(spec.number);
  value.f64 = spec.number;
  value.text = sdk::Str(spec.text);
  return value;
}

// Elements of a dense host tensor as T.
template <typename T>
std::vector<T> ElementsOf(const tenon_tensor& tensor, const std::string& name) {
  size_t count = 1;
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) count *= static_cast<size_t>(tensor.dims[axis]);
  const auto* bytes = reinterpret_cast<const char*>(static_cast<uintptr_t>(tensor.address + tensor.byte_offset));
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    if (tensor.dtype == TENON_DTYPE_F32) {
      values.push_back(static_cast<T>(reinterpret_cast<const float*>(bytes)[i]));
    } else if (tensor.dtype == TENON_DTYPE_I64) {
      values.push_back(static_cast<T>(reinterpret_cast<const int64_t*>(bytes)[i]));
    } else {
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Attribute '", name, "' holds ", sdk::DTypeName(tensor.dtype),
                         "; rows are f32 or i64.");
    }
  }
  return values;
}

template <typename T>
std::vector<std::vector<T>> InRows(const std::vector<T>& values, size_t row) {
  std::vector<std::vector<T>> rows;
  for (size_t i = 0; row > 0 && i < values.size(); i += row) {
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                      values.begin() + static_cast<std::ptrdiff_t>(i + row));
  }
  return rows;
}

}  // namespace

void NodeAttributes::Add(const AttributeSpec& spec, const tenon_attribute& record) {
  Entry entry;
  entry.name = spec.name;
  entry.type = spec.type;
  entry.number = record.i64;
  entry.real = record.kind == TENON_ATTRIBUTE_INT ? static_cast<double>(record.i64) : record.f64;
  entry.text = std::string(sdk::Text(record.text));
  if (record.ints != nullptr) entry.ints.assign(record.ints, record.ints + record.count);
  if (record.floats != nullptr) entry.floats.assign(record.floats, record.floats + record.count);
  if (record.kind == TENON_ATTRIBUTE_TENSOR) {
    const tenon_tensor& tensor = *record.tensor;
    if (tensor.rank != 2)
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "Attribute '", spec.name, "' has rank ", tensor.rank,
                         "; a list of rows is needed.");
    entry.row = static_cast<size_t>(tensor.dims[1]);
    if (spec.type == AttributeType::kIntRows) entry.ints = ElementsOf<int64_t>(tensor, spec.name);
    if (spec.type == AttributeType::kFloatRows) entry.floats = ElementsOf<float>(tensor, spec.name);
  }
  entries_.push_back(std::move(entry));
}

bool NodeAttributes::Has(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
}
const NodeAttributes::Entry& NodeAttributes::Find(std::string_view name, AttributeType type) const {
  for (const Entry& entry : entries_) {
    if (entry.name != name) continue;
    if (entry.type != type)
      throw sdk::Failure(TENON_INVALID_ARGUMENT, "The library reads attribute '", name, "' as ",
                         kTypeNames[static_cast<size_t>(type)], "; its signature says ",
                         kTypeNames[static_cast<size_t>(entry.type)], ".");
    return entry;
  }
  throw sdk::Failure(TENON_INVALID_ARGUMENT, "The library reads attribute '", name,
                     "', which the node does not have. Declare it in the operator's signature under plugins.load.");
}
bool NodeAttributes::Flag(std::string_view name) const { return Find(name, AttributeType::kFlag).number != 0; }
int64_t NodeAttributes::Int(std::string_view name) const { return Find(name, AttributeType::kInt).number; }
float NodeAttributes::Float(std::string_view name) const {
  return static_cast<float>(Find(name, AttributeType::kFloat).real);
}
std::string_view NodeAttributes::Text(std::string_view name) const { return Find(name, AttributeType::kText).text; }
std::vector<int64_t> NodeAttributes::Ints(std::string_view name) const { return Find(name, AttributeType::kInts).ints; }
std::vector<float> NodeAttributes::Floats(std::string_view name) const {
  const Entry& entry = Find(name, AttributeType::kFloats);
  return entry.floats;
}
std::vector<std::vector<int64_t>> NodeAttributes::IntRows(std::string_view name) const {
  const Entry& entry = Find(name, AttributeType::kIntRows);
  return InRows(entry.ints, entry.row);
}
std::vector<std::vector<float>> NodeAttributes::FloatRows(std::string_view name) const {
  const Entry& entry = Find(name, AttributeType::kFloatRows);
  return InRows(entry.floats, entry.row);
}

const char* LegacyName(uint32_t dtype) {
  switch (dtype) {
    case TENON_DTYPE_BOOL:
      return "bool";
    case TENON_DTYPE_I8:
      return "int8";
    case TENON_DTYPE_I16:
      return "int16";
    case TENON_DTYPE_I32:
      return "int32";
    case TENON_DTYPE_I64:
      return "int64";
    case TENON_DTYPE_U8:
      return "uint8";
    case TENON_DTYPE_U16:
      return "uint16";
    case TENON_DTYPE_U32:
      return "uint32";
    case TENON_DTYPE_U64:
      return "uint64";
    case TENON_DTYPE_F16:
      return "float16";
    case TENON_DTYPE_F32:
      return "float32";
    case TENON_DTYPE_F64:
      return "float64";
    case TENON_DTYPE_BF16:
      return "bfloat16";
    default:
      return "";
  }
}

Operator::Operator(std::string name, std::string file, Functions functions, StringAbi string_abi, Signature signature)
    : name_(std::move(name)),
      file_(std::move(file)),
      functions_(functions),
      string_abi_(string_abi),
      signature_(std::move(signature)) {
  for (const std::string& input : signature_.inputs) inputs_.push_back(sdk::Param(input));
  if (inputs_.empty()) inputs_.push_back(sdk::Param("x", TENON_PARAM_VARIADIC));
  for (const std::string& output : signature_.outputs) outputs_.push_back(sdk::Param(output));
  defaults_.reserve(signature_.attributes.size());
  for (const AttributeSpec& spec : signature_.attributes) {
    defaults_.push_back(DefaultOf(spec));
    attributes_.push_back(
        sdk::AttributeDef(spec.name, KindOf(spec.type), 0, spec.has_default ? &defaults_.back() : nullptr));
  }
  def_ = sdk::OperatorBuilder(kDomain, name_, 1)
             .Inputs({inputs_.data(), inputs_.size()})
             .Outputs({outputs_.data(), outputs_.size()})
             .Attributes({attributes_.data(), attributes_.size()})
             .Traits(0)
             .Infer(&InferLegacy);
  def_.user = this;
  kernel_ = MakeLegacyKernel(name_, this);
}

void Operator::SetGradient(const Operator& backward) {
  const auto inputs = static_cast<uint32_t>(signature_.inputs.size());
  const auto outputs = static_cast<uint32_t>(signature_.outputs.size());
  for (uint32_t i = 0; i < inputs; ++i) sources_.push_back(sdk::FromInput(i));
  for (uint32_t i = 0; i < outputs; ++i) sources_.push_back(sdk::FromOutput(i));
  for (uint32_t i = 0; i < outputs; ++i) sources_.push_back(sdk::FromOutputGrad(i));
  for (uint32_t i = 0; i < inputs; ++i) grad_inputs_.push_back(i);
  paired_ = sdk::PairedGradient(kDomain, backward.name(), 1, {sources_.data(), sources_.size()},
                                {grad_inputs_.data(), grad_inputs_.size()});
  def_.gradient_form = TENON_GRADIENT_PAIRED;
  def_.paired = &paired_;
}

}  // namespace tenon::aot

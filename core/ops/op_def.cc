#include "core/ops/op_def.h"

#include <cstdlib>

#include "core/base/text.h"

namespace tenon {

void DefineBuiltinOps(OpRegistry& ops);  // generated: one call per file of core/ops/builtin

std::string TypeSet::ToString() const {
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i < 64; ++i) {
    if (Has(static_cast<DType>(i))) names.emplace_back(NameOf(static_cast<DType>(i)));
  }
  return Join(names, ", ");
}

OpDef& OpDef::Input(std::string name, TypeSet types, std::string group) {
  inputs_.push_back({std::move(name), types, Arity::kRequired, std::move(group)});
  return *this;
}
OpDef& OpDef::OptionalInput(std::string name, TypeSet types, std::string group) {
  inputs_.push_back({std::move(name), types, Arity::kOptional, std::move(group)});
  return *this;
}
OpDef& OpDef::VariadicInput(std::string name, TypeSet types, std::string group) {
  inputs_.push_back({std::move(name), types, Arity::kVariadic, std::move(group)});
  return *this;
}
OpDef& OpDef::Output(std::string name) {
  outputs_.push_back({std::move(name), {}, Arity::kRequired, ""});
  return *this;
}
OpDef& OpDef::OptionalOutput(std::string name) {
  outputs_.push_back({std::move(name), {}, Arity::kOptional, ""});
  return *this;
}
OpDef& OpDef::VariadicOutput(std::string name) {
  outputs_.push_back({std::move(name), {}, Arity::kVariadic, ""});
  return *this;
}
OpDef& OpDef::Attr(std::string name, AttrValue fallback) {
  const AttrType type = TypeOf(fallback);
  attrs_.push_back({std::move(name), type, std::move(fallback), false});
  return *this;
}
OpDef& OpDef::OptionalAttr(std::string name, AttrType type) {
  attrs_.push_back({std::move(name), type, std::nullopt, false});
  return *this;
}
OpDef& OpDef::RequiredAttr(std::string name, AttrType type) {
  attrs_.push_back({std::move(name), type, std::nullopt, true});
  return *this;
}

const AttrDef* OpDef::FindAttr(std::string_view name) const {
  for (const AttrDef& def : attrs_) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

Status OpDef::Complete(Attributes& attrs) const {
  std::vector<std::string> known;
  for (const AttrDef& def : attrs_) known.push_back(def.name);
  for (const auto& item : attrs.items()) {
    const AttrDef* def = FindAttr(item.first);
    if (def == nullptr) {
      const std::string nearest = NearestName(item.first, known);
      std::string hint = known.empty() ? "It has none." : fmt::format("It has '{}'.", fmt::join(known, "', '"));
      if (!nearest.empty()) hint = fmt::format("Did you mean '{}'?", nearest);
      return InvalidArgument("{} has no attribute '{}'. {}", FullName(), item.first, hint);
    }
    TENON_INVALID_IF(def->type != TypeOf(item.second), "{} attribute '{}' is a {}; expected a {}.", FullName(),
                     item.first, NameOf(TypeOf(item.second)), NameOf(def->type));
  }
  for (const AttrDef& def : attrs_) {
    if (attrs.Has(def.name)) continue;
    TENON_INVALID_IF(def.required, "{} needs the attribute '{}' ({}).", FullName(), def.name, NameOf(def.type));
    if (def.fallback) attrs.Set(def.name, *def.fallback);
  }
  return {};
}

Status OpDef::CheckInputs(std::span<const ValueType> inputs) const {
  const bool variadic = !inputs_.empty() && inputs_.back().arity == Arity::kVariadic;
  TENON_INVALID_IF(inputs.size() > inputs_.size() && !variadic, "{} takes at most {} inputs; got {}.", FullName(),
                   inputs_.size(), inputs.size());
  std::map<std::string, std::pair<DType, std::string>> groups;
  for (std::size_t i = 0; i < std::max(inputs.size(), inputs_.size()); ++i) {
    const ArgDef& def = inputs_[std::min(i, inputs_.size() - 1)];
    const bool present = i < inputs.size() && inputs[i].defined();
    if (!present) {
      TENON_INVALID_IF(def.arity == Arity::kRequired, "{} needs input {} ('{}').", FullName(), i, def.name);
      continue;
    }
    const DType dtype = inputs[i].dtype;
    TENON_INVALID_IF(!def.types.Has(dtype), "{} input {} has dtype ({}); supported are {}.", FullName(), def.name,
                     NameOf(dtype), def.types.ToString());
    if (def.group.empty()) continue;
    const auto added = groups.emplace(def.group, std::pair(dtype, def.name));
    TENON_INVALID_IF(added.first->second.first != dtype, "{} input {} has dtype ({}) but input {} has ({}).",
                     FullName(), def.name, NameOf(dtype), added.first->second.second,
                     NameOf(added.first->second.first));
  }
  return {};
}

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// Known dims are counts, and all of them together fit in memory as far as it can be counted.
Status CheckCounts(const ValueType& type, const char* what, std::size_t index) {
  bool empty = false;
  for (const Dim dim : type.shape.dims()) {
    TENON_INVALID_IF(dim.known() && dim.value() < 0, "{} {} has shape {}: {} is no number of elements.", what, index,
                     type.shape, dim);
    empty = empty || dim.Is(0);
  }
  std::int64_t bytes = SizeOf(type.dtype);
  for (const Dim dim : type.shape.dims()) {
    if (empty) break;
    TENON_INVALID_IF(dim.known() && (__builtin_mul_overflow(bytes, dim.value(), &bytes) || bytes > kMostBytes),
                     "{} {} has shape {}: that is more than 2^62 bytes.", what, index, type.shape);
  }
  return {};
}

}  // namespace

Dim OpDef::Flops(const FlopArgs& args) const {
  if (flops_) return flops_(args);
  Dim most = 0;
  for (const auto operands : {args.inputs, args.outputs}) {
    for (const SymShape* shape : operands) {
      if (shape != nullptr) most = Max(most, shape->Elements());
    }
  }
  return most;
}

Result<std::vector<ValueType>> OpDef::InferOutputs(const Attributes& attrs, std::span<const ValueType> inputs,
                                                   std::span<const Tensor* const> constants,
                                                   std::size_t outputs) const {
  TENON_TRY(CheckInputs(inputs));
  const bool variadic = !outputs_.empty() && outputs_.back().arity == Arity::kVariadic;
  TENON_INVALID_IF(outputs > outputs_.size() && !variadic, "{} has at most {} outputs; {} are wanted.", FullName(),
                   outputs_.size(), outputs);
  InferContext context(attrs, inputs, constants, outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) TENON_TRY(CheckCounts(inputs[i], "Input", i));
  }
  TENON_TRY(infer_(context));
  for (std::size_t i = 0; i < context.outputs().size(); ++i) {
    if (context.outputs()[i].defined()) TENON_TRY(CheckCounts(context.outputs()[i], "Output", i));
  }
  return context.outputs();
}

OpDef& OpRegistry::Define(std::string domain, std::string type) {
  auto def = std::make_unique<OpDef>();
  def->domain_ = std::move(domain);
  def->type_ = std::move(type);
  auto& versions = ops_[def->domain_ + "." + def->type_];
  versions.push_back(std::move(def));
  return *versions.back();
}

namespace {

// What a reader who asked for an operator that is not there may have meant.
std::string HintFor(const std::vector<const OpDef*>& known, std::string_view domain, std::string_view type) {
  std::vector<std::string> names;
  for (const OpDef* def : known) {
    if (def->type() == type)
      return def->domain().empty() ? " ONNX has one; its domain is ''."
                                   : fmt::format(" Domain '{}' has one.", def->domain());
    if (def->domain() == domain) names.push_back(def->type());
  }
  if (names.empty()) return " No plugin that is loaded has operators of this domain; plugins.load names more.";
  const std::string nearest = NearestName(type, names);
  return nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest);
}

}  // namespace

Result<const OpDef*> OpRegistry::Find(std::string_view domain, std::string_view type, int version) const {
  const auto found = ops_.find(fmt::format("{}.{}", domain, type));
  if (found == ops_.end()) {
    if (parent_ != nullptr && parent_->ops_.count(fmt::format("{}.{}", domain, type)) > 0)
      return parent_->Find(domain, type, version);
    return InvalidArgument("There is no operator '{}'{}.{}", type,
                           domain.empty() ? std::string() : fmt::format(" in domain '{}'", domain),
                           HintFor(All(), domain, type));
  }
  const int newest = NewestVersion(domain);
  TENON_INVALID_IF(version > newest, "Operator '{}' of opset {} is not known; the newest opset{} is {}.", type, version,
                   domain.empty() ? std::string() : fmt::format(" of domain '{}'", domain), newest);
  const OpDef* best = nullptr;
  for (const auto& def : found->second) {
    const bool fits = version == 0 || def->since() <= version;
    if (fits && (best == nullptr || def->since() > best->since())) best = def.get();
  }
  TENON_INVALID_IF(best == nullptr, "Operator '{}' exists since opset {}; the model states opset {}.", type,
                   found->second.front()->since(), version);
  return best;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  if (parent_ != nullptr) all = parent_->All();
  for (const auto& entry : ops_) {
    for (const auto& def : entry.second) all.push_back(def.get());
  }
  return all;
}

int OpRegistry::NewestVersion(std::string_view domain) const {
  int newest = domain.empty() ? kNewestOpset : 1;
  for (const OpDef* def : All()) {
    if (def->domain() == domain) newest = std::max(newest, def->since());
  }
  return newest;
}

Status OpRegistry::Verify() const {
  for (const auto& entry : ops_) {
    for (const auto& def : entry.second) {
      if (def->domain_.empty() && def->since_ > kNewestOpset)
        return Error(Code::kInternal, "Operator {} is of opset {}, which is newer than {}.", def->FullName(),
                     def->since(), kNewestOpset);
      if (def->infer_ == nullptr) return Error(Code::kInternal, "Operator {} has no shape rule.", def->FullName());
      if (def->reference_ == nullptr) return Error(Code::kInternal, "Operator {} has no reference.", def->FullName());
      for (const auto& other : entry.second) {
        if (def != other && def->since() == other->since())
          return Error(Code::kInternal, "Operator {} version {} is defined twice.", def->FullName(), def->since());
      }
    }
  }
  return {};
}

const OpRegistry& BuiltinOps() {
  static const OpRegistry* registry = [] {
    auto* ops = new OpRegistry;  // never destroyed: definitions are referred to until the process ends
    DefineBuiltinOps(*ops);
    const Status status = ops->Verify();
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.ToString());
      std::abort();  // a bug in core/ops/builtin
    }
    return ops;
  }();
  return *registry;
}

}  // namespace tenon

#include "core/ops/plugin_operators.h"

#include <algorithm>

#include "core/ops/abi_attributes.h"
#include "core/ops/abi_tensor.h"
#include "core/ops/plugin_gradient.h"
#include "core/ops/plugin_infer.h"
#include "core/ops/reduction.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/plugin_records.h"

namespace tenon {
namespace {

// One definition on its way into the registry.
class Adapter {
 public:
  Adapter(const tenon_operator_def* def, const tenon_operator_def& facts, const std::string& file, OpRegistry& ops)
      : def_(def), facts_(facts), file_(file), ops_(ops) {}

  Status Add() {
    TENON_INVALID_IF(View(facts_.domain).empty(),
                     "The domain is empty, which is ONNX; an operator of a plugin needs a domain of its own.");
    TENON_INVALID_IF(View(facts_.op_type).empty(), "The operator has no name.");
    TENON_INVALID_IF(facts_.since_version == 0, "The version is 0; it starts at 1.");
    TENON_INVALID_IF(facts_.scalar_count > 0, "It asks for scalars of each call, which this host does not give.");
    OpDef& op = ops_.Define(std::string(View(facts_.domain)), std::string(View(facts_.op_type)));
    op.Since(static_cast<int>(facts_.since_version)).From(file_);
    TENON_TRY(AddParams(op));
    TENON_TRY(AddAttributes(op));
    TENON_TRY(AddRule(op));
    TENON_TRY(AddGradient(op));
    for (std::uint32_t i = 0; i < facts_.alias_count; ++i) {
      const tenon_alias_pair& pair = facts_.aliases[i];
      op.InPlace(static_cast<int>(pair.output), static_cast<int>(pair.input), (pair.flags & TENON_ALIAS_MUST) != 0);
    }
    if ((facts_.traits & TENON_TRAIT_ELEMENTWISE) != 0) op.Elementwise();
    if ((facts_.traits & TENON_TRAIT_RANDOM) != 0) op.Random();
    return {};
  }

 private:
  static Result<TypeSet> TypesOf(const tenon_param_def& param) {
    if (param.dtypes == nullptr) return kAllTypes;
    TypeSet types;
    for (std::uint32_t i = 0; i < param.dtype_count; ++i) {
      const std::optional<DType> dtype = DTypeFromAbi(param.dtypes[i]);
      TENON_INVALID_IF(!dtype, "Input '{}' lists the dtype number {}, which this host does not know.", View(param.name),
                       param.dtypes[i]);
      types = types | TypeSet({*dtype});
    }
    return types;
  }

  Status AddParams(OpDef& op) {
    for (std::uint32_t i = 0; i < facts_.input_count; ++i) {
      const tenon_param_def param = RecordAt(facts_.inputs, facts_.input_stride, i);
      TENON_ASSIGN(const TypeSet types, TypesOf(param));
      const std::string name(View(param.name));
      const std::string group = param.type_group == 0 ? "" : fmt::format("T{}", param.type_group);
      const bool variadic = (param.flags & TENON_PARAM_VARIADIC) != 0;
      TENON_INVALID_IF(variadic && i + 1 < facts_.input_count, "Input '{}' is variadic and not the last one.", name);
      if (variadic) {
        op.VariadicInput(name, types, group);
      } else if ((param.flags & TENON_PARAM_OPTIONAL) != 0) {
        op.OptionalInput(name, types, group);
      } else {
        op.Input(name, types, group);
      }
    }
    for (std::uint32_t i = 0; i < facts_.output_count; ++i) {
      const tenon_param_def param = RecordAt(facts_.outputs, facts_.output_stride, i);
      const std::string name(View(param.name));
      const bool saved = (param.flags & TENON_PARAM_SAVED) != 0;
      if (saved) op.SavedForGradient(static_cast<int>(i));
      if ((param.flags & TENON_PARAM_VARIADIC) != 0) {
        op.VariadicOutput(name);
      } else if (saved || (param.flags & TENON_PARAM_OPTIONAL) != 0) {
        op.OptionalOutput(name);
      } else {
        op.Output(name);
      }
    }
    TENON_INVALID_IF(facts_.output_count == 0, "It has no output.");
    return {};
  }

  static Result<std::pair<AttrType, AttrMeaning>> TypeOfKind(const tenon_attribute_def& attribute) {
    using Type = std::pair<AttrType, AttrMeaning>;
    switch (attribute.kind) {
      case TENON_ATTRIBUTE_INT:
        return Type(AttrType::kInt, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_FLAG:
        return Type(AttrType::kInt, AttrMeaning::kFlag);
      case TENON_ATTRIBUTE_DTYPE:
        return Type(AttrType::kInt, AttrMeaning::kDType);
      case TENON_ATTRIBUTE_FLOAT:
        return Type(AttrType::kFloat, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_TEXT:
        return Type(AttrType::kText, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_SHAPE:
        return Type(AttrType::kInts, AttrMeaning::kShape);
      case TENON_ATTRIBUTE_INTS:
        return Type(AttrType::kInts, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_FLOATS:
        return Type(AttrType::kFloats, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_TENSOR:
        return Type(AttrType::kTensor, AttrMeaning::kPlain);
      case TENON_ATTRIBUTE_TEXTS:
        return Type(AttrType::kTexts, AttrMeaning::kPlain);
      default:
        return InvalidArgument("Attribute '{}' is of kind {}, which this host does not know.", View(attribute.name),
                               attribute.kind);
    }
  }

  Status AddAttributes(OpDef& op) {
    for (std::uint32_t i = 0; i < facts_.attribute_count; ++i) {
      const tenon_attribute_def attribute = RecordAt(facts_.attributes, facts_.attribute_stride, i);
      const std::string name(View(attribute.name));
      TENON_ASSIGN(const auto type, TypeOfKind(attribute));
      AttrDef made{name, type.first, std::nullopt, (attribute.flags & TENON_ATTRIBUTE_REQUIRED) != 0, type.second};
      if (attribute.default_value != nullptr) {
        tenon_attribute value = CopyRecord(attribute.default_value);
        if (value.kind == 0) value.kind = attribute.kind;
        TENON_ASSIGN(made.fallback, ReadAbiAttribute(value, fmt::format("The default of attribute '{}'", name)));
        TENON_INVALID_IF(TypeOf(*made.fallback) != type.first, "The default of attribute '{}' is a {}; it is a {}.",
                         name, NameOf(TypeOf(*made.fallback)), NameOf(type.first));
      }
      op.AddAttr(std::move(made));
    }
    return {};
  }

  Status AddRule(OpDef& op) {
    if (facts_.infer != nullptr) {
      op.Infer(PluginInfer(def_, &op, file_));
      return {};
    }
    switch (facts_.shape_family) {
      case TENON_SHAPE_SAME_AS_INPUT:
        op.Infer(InferSameAsFirst);
        return {};
      case TENON_SHAPE_BROADCAST:
        op.Infer(InferBroadcast);
        return {};
      case TENON_SHAPE_REDUCE:
        op.Infer([](InferContext& context) { return InferReduction(context, context.num_inputs() > 1); });
        return {};
      default:
        return InvalidArgument("It has no shape rule, and shape family {} is none that this host knows.",
                               facts_.shape_family);
    }
  }

  Status AddGradient(OpDef& op) {
    switch (facts_.gradient_form) {
      case TENON_GRADIENT_UNDECLARED:
        return {};
      case TENON_GRADIENT_NONE:
        op.NoGradient();
        return {};
      case TENON_GRADIENT_PAIRED:
        TENON_INVALID_IF(facts_.paired == nullptr,
                         "Its gradient is said to be paired, and no backward operator is given.");
        op.Gradient(PairedGradient(def_, &op, &ops_, file_));
        return {};
      case TENON_GRADIENT_BUILDER:
        TENON_INVALID_IF(facts_.build_gradient == nullptr,
                         "Its gradient is said to be built, and no builder is given.");
        op.Gradient(BuiltGradient(def_, &op, file_));
        return {};
      default:
        return InvalidArgument("Its gradient has the form {}, which this host does not know.", facts_.gradient_form);
    }
  }

  const tenon_operator_def* def_;
  const tenon_operator_def& facts_;
  const std::string& file_;
  OpRegistry& ops_;
};

// The definition of the same operator and version that is there already, or null.
const OpDef* Earlier(const OpRegistry& ops, const tenon_operator_def& facts) {
  for (const OpDef* op : ops.All()) {
    if (op->domain() == View(facts.domain) && op->type() == View(facts.op_type) &&
        op->since() == static_cast<int>(facts.since_version))
      return op;
  }
  return nullptr;
}

}  // namespace

Status AddPluginOperators(const tenon_op_vtable& table, tenon_plugin* instance, const std::string& file,
                          OpRegistry& ops) {
  if (table.list_operators == nullptr) return {};
  const tenon_operator_def* first = nullptr;
  std::uint64_t count = 0, stride = 0;
  tenon_error error;
  const std::int32_t code =
      CallAbi("tenon.op", "list_operators", table.list_operators, instance, &first, &count, &stride, &error);
  TENON_TRY_WHILE(ToStatus(code, error, file), "listing the operators of {}", file);
  if (first == nullptr && count != 0)
    return Error(Code::kInternal, "{} lists {} operators at a NULL address.", file, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const tenon_operator_def facts = RecordAt(first, stride, i);
    const tenon_operator_def* def = RecordAddress(first, stride, i);
    if (const OpDef* earlier = Earlier(ops, facts)) {
      return Error(Code::kAlreadyExists, "Operator {} version {} is defined by {} and by {}. Load only one of them.",
                   earlier->FullName(), earlier->since(), earlier->origin().empty() ? "Tenon" : earlier->origin(),
                   file);
    }
    TENON_TRY_WHILE(Adapter(def, facts, file, ops).Add(), "reading the definition of operator {}.{} of {}",
                    View(facts.domain), View(facts.op_type), file);
  }
  return {};
}

}  // namespace tenon

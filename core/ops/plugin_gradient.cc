#include "core/ops/plugin_gradient.h"

#include <algorithm>

#include "core/ops/abi_attributes.h"
#include "core/ops/abi_tensor.h"
#include "core/plugin/error_sink.h"

// One run of a builder.
struct tenon_grad {
  tenon::GradBuilder& builder;
  tenon::GradArgs& args;
  const tenon::AbiAttributes& attributes;
  std::string subject;
  tenon::Status failure;
};

namespace tenon {
namespace {

// ---- form PAIRED ----

// First output that is saved for the gradient; all later ones are.
std::size_t FirstSaved(const OpDef& op) {
  return op.saved_outputs().empty() ? op.outputs().size() : static_cast<std::size_t>(op.saved_outputs().front());
}

Result<Value> SourceOf(const tenon_gradient_source& source, const OpDef& op, const GradArgs& args) {
  const auto at = [&](std::span<const Value> values, std::size_t index) -> Result<Value> {
    if (index >= values.size()) return Value{};
    return values[index];
  };
  switch (source.kind) {
    case TENON_SOURCE_INPUT:
      return at(args.inputs, source.index);
    case TENON_SOURCE_OUTPUT:
      return at(args.outputs, source.index);
    case TENON_SOURCE_SAVED:
      return at(args.outputs, FirstSaved(op) + source.index);
    case TENON_SOURCE_OUTPUT_GRAD:
      return at(args.output_grads, source.index);
    default:
      return InvalidArgument("The gradient names a source of kind {}, which this host does not know.", source.kind);
  }
}

// The attributes of the forward node that the backward operator declares.
Attributes SharedAttributes(const Attributes& forward, const OpDef& backward) {
  Attributes shared;
  for (const auto& item : forward.items()) {
    if (backward.FindAttr(item.first) != nullptr) shared.Set(item.first, item.second);
  }
  return shared;
}

Status BuildPaired(const tenon_paired_gradient& paired, const OpDef& op, const OpRegistry& ops, GradBuilder& builder,
                   GradArgs& args) {
  TENON_ASSIGN(const OpDef* backward,
               ops.Find(View(paired.domain), View(paired.op_type), static_cast<int>(paired.version)));
  std::vector<Value> inputs;
  for (std::uint32_t i = 0; i < paired.source_count; ++i) {
    TENON_ASSIGN(const Value source, SourceOf(paired.sources[i], op, args));
    inputs.push_back(source);
  }
  const std::vector<Value> gradients =
      builder.Apply(backward->domain(), backward->type(), inputs, SharedAttributes(args.attrs, *backward),
                    static_cast<int>(paired.grad_input_count));
  for (std::uint32_t k = 0; k < paired.grad_input_count && k < gradients.size(); ++k) {
    const std::uint32_t input = paired.grad_inputs[k];
    TENON_INVALID_IF(input >= args.input_grads.size() && input >= op.inputs().size(),
                     "The gradient names input {} of {}.", input, op.inputs().size());
    if (args.wants(input)) args.input_grads[input] = gradients[k];
  }
  return {};
}

// ---- form BUILDER ----

std::int32_t Keep(tenon_grad* grad, Status status) {
  const auto code = static_cast<std::int32_t>(status.code());
  if (grad->failure.ok()) grad->failure = std::move(status);
  return code;
}

std::uint64_t At(std::span<const Value> values, std::uint32_t index) {
  return index < values.size() ? values[index].id : 0;
}
std::uint32_t InputCount(tenon_grad* grad) { return static_cast<std::uint32_t>(grad->args.inputs.size()); }
std::uint32_t OutputCount(tenon_grad* grad) { return static_cast<std::uint32_t>(grad->args.outputs.size()); }
std::uint64_t Input(tenon_grad* grad, std::uint32_t index) { return At(grad->args.inputs, index); }
std::uint64_t Output(tenon_grad* grad, std::uint32_t index) { return At(grad->args.outputs, index); }
std::uint64_t OutputGrad(tenon_grad* grad, std::uint32_t index) { return At(grad->args.output_grads, index); }
std::uint32_t NeedsGrad(tenon_grad* grad, std::uint32_t index) { return grad->args.wants(index) ? 1 : 0; }

std::int32_t Attribute(tenon_grad* grad, tenon_str name, const tenon_attribute** out) {
  *out = grad->attributes.Find(View(name));
  return *out == nullptr ? TENON_NOT_FOUND : TENON_OK;
}

std::uint32_t ValueDType(tenon_grad* grad, std::uint64_t value) {
  return value == 0 ? 0 : static_cast<std::uint32_t>(grad->builder.type(Value{value}).dtype);
}
std::int32_t ValueRank(tenon_grad* grad, std::uint64_t value) {
  return value == 0 ? -2 : grad->builder.type(Value{value}).shape.rank();
}
// Gradients are built for known shapes.
std::int32_t ValueDim(tenon_grad* grad, std::uint64_t value, std::uint32_t axis, tenon_dim* out) {
  if (value == 0) return Keep(grad, Error(Code::kOutOfRange, "The builder asks for the shape of an absent value."));
  const SymShape shape = grad->builder.type(Value{value}).shape;
  if (axis >= static_cast<std::uint32_t>(shape.rank()))
    return Keep(grad, Error(Code::kOutOfRange, "A value has shape {}; there is no axis {}.", shape, axis));
  const Dim dim = shape[static_cast<int>(axis)];
  if (!dim.known())
    return Keep(grad, Error(Code::kFailedPrecondition, "The extent {} of axis {} is not known yet.", dim, axis));
  *out = {dim.value(), 0, TENON_DIM_KNOWN};
  return TENON_OK;
}

std::int32_t Op(tenon_grad* grad, tenon_str domain, tenon_str op_type, std::uint32_t, const tenon_attribute* attributes,
                std::uint32_t attribute_count, std::uint32_t attribute_stride, const std::uint64_t* inputs,
                std::uint32_t input_count, std::uint64_t* outputs, std::uint32_t output_count) {
  Attributes attrs;
  for (std::uint32_t i = 0; i < attribute_count; ++i) {
    const auto& record = *reinterpret_cast<const tenon_attribute*>(reinterpret_cast<const char*>(attributes) +
                                                                   std::size_t{attribute_stride} * i);
    Result<AttrValue> value = ReadAbiAttribute(
        record, fmt::format("Attribute '{}' of {}, which the gradient builds,", View(record.name), View(op_type)));
    if (!value.ok()) return Keep(grad, value.status());
    attrs.Set(View(record.name), std::move(*value));
  }
  std::vector<Value> operands;
  for (std::uint32_t i = 0; i < input_count; ++i) operands.push_back(Value{inputs[i]});
  const std::vector<Value> made =
      grad->builder.Apply(View(domain), View(op_type), operands, std::move(attrs), static_cast<int>(output_count));
  for (std::uint32_t i = 0; i < output_count; ++i) outputs[i] = i < made.size() ? made[i].id : 0;
  // The builder of the core keeps why, and reports it.
  return made.empty() || !made[0] ? TENON_INVALID_ARGUMENT : TENON_OK;
}

std::int32_t Constant(tenon_grad* grad, const tenon_tensor* content, std::uint64_t* out) {
  Result<Tensor> tensor = ReadAbiTensor(*content, "A constant of the gradient");
  if (!tensor.ok()) return Keep(grad, tensor.status());
  *out = grad->builder.Constant(std::move(*tensor)).id;
  return *out == 0 ? TENON_INVALID_ARGUMENT : TENON_OK;
}

std::int32_t SetInputGrad(tenon_grad* grad, std::uint32_t index, std::uint64_t value) {
  if (index >= grad->args.input_grads.size())
    return Keep(grad, Error(Code::kOutOfRange, "The builder sets the gradient of input {} of {}.", index,
                            grad->args.input_grads.size()));
  Value& target = grad->args.input_grads[index];
  if (target) return Keep(grad, Error(Code::kAlreadyExists, "The gradient of input {} is set twice.", index));
  const SymShape wanted = grad->builder.type(grad->args.inputs[index]).shape;
  if (value != 0 && !(grad->builder.type(Value{value}).shape == wanted))
    return Keep(grad, InvalidArgument("The gradient of input {} has shape {}; the input has {}.", index,
                                      grad->builder.type(Value{value}).shape, wanted));
  target = Value{value};
  return TENON_OK;
}

void FailBuilder(tenon_grad* grad, std::int32_t code, tenon_str message) {
  grad->failure = Status(CodeFromAbi(code), std::string(View(message)));  // the last call wins
}
tenon_str NodeName(tenon_grad* grad) { return ToStr(grad->subject); }

const tenon_gradient_api& Table() {
  static const tenon_gradient_api api = [] {
    tenon_gradient_api table = TENON_INIT(tenon_gradient_api);
    table.input_count = &InputCount;
    table.output_count = &OutputCount;
    table.input = &Input;
    table.output = &Output;
    table.output_grad = &OutputGrad;
    table.needs_grad = &NeedsGrad;
    table.attribute = &Attribute;
    table.value_dtype = &ValueDType;
    table.value_rank = &ValueRank;
    table.value_dim = &ValueDim;
    table.op = &Op;
    table.constant = &Constant;
    table.set_input_grad = &SetInputGrad;
    table.fail = &FailBuilder;
    table.node_name = &NodeName;
    return table;
  }();
  return api;
}

Status RunBuilder(const tenon_operator_def* def, const OpDef& op, GradBuilder& builder, GradArgs& args) {
  const AbiAttributes attributes(args.attrs, &op);
  tenon_grad grad{builder, args, attributes, op.FullName(), {}};
  const std::int32_t code = def->build_gradient(def, &Table(), &grad);
  if (code == TENON_OK || !grad.failure.ok()) return grad.failure;
  return Status(CodeFromAbi(code), fmt::format("The builder gives the code {} and no reason.", code));
}

}  // namespace

GradientFn PairedGradient(const tenon_operator_def* def, const OpDef* op, const OpRegistry* ops, std::string file) {
  return [def, op, ops, file = std::move(file)](GradBuilder& builder, GradArgs& args) -> Status {
    TENON_TRY_WHILE(BuildPaired(*def->paired, *op, *ops, builder, args), "building the gradient of {} of {}",
                    op->FullName(), file);
    return {};
  };
}

GradientFn BuiltGradient(const tenon_operator_def* def, const OpDef* op, std::string file) {
  return [def, op, file = std::move(file)](GradBuilder& builder, GradArgs& args) -> Status {
    TENON_TRY_WHILE(RunBuilder(def, *op, builder, args), "building the gradient of {} of {}", op->FullName(), file);
    return {};
  };
}

}  // namespace tenon

#include "tests/support/op_runner.h"

#include <cstring>
#include <memory>

namespace tenon::testing {

namespace {

std::vector<ValueType> TypesOf(const std::vector<Tensor>& tensors) {
  std::vector<ValueType> types;
  for (const Tensor& tensor : tensors) {
    types.push_back(tensor.defined() ? ValueType{tensor.dtype(), tensor.shape()} : ValueType{});
  }
  return types;
}

}  // namespace

std::vector<NamedRunner>& Runners() {
  static std::vector<NamedRunner> runners{{"reference", RunReference}, {"reference in place", RunReferenceInPlace}};
  return runners;
}

Result<CheckedCall> CheckCall(const OpCall& call) {
  CheckedCall out;
  TENON_ASSIGN(out.def, BuiltinOps().Find(call.domain, call.op, call.version));
  out.attrs = call.attrs;
  TENON_TRY(out.def->Complete(out.attrs));
  std::vector<const Tensor*> constants;
  for (const Tensor& input : call.inputs) constants.push_back(input.defined() ? &input : nullptr);
  TENON_ASSIGN(out.outputs, out.def->InferOutputs(out.attrs, TypesOf(call.inputs), constants,
                                                  static_cast<std::size_t>(call.outputs)));
  return out;
}

Result<std::vector<Tensor>> RunReference(const OpCall& call) {
  TENON_ASSIGN(const CheckedCall checked, CheckCall(call));
  std::vector<Tensor> outputs;
  for (const ValueType& type : checked.outputs) outputs.emplace_back(type.dtype, type.shape.Concrete());
  TENON_TRY(checked.def->reference()(ReferenceArgs{checked.attrs, call.inputs, outputs, call.random}));
  return outputs;
}

Result<std::vector<Tensor>> RunReferenceInPlace(const OpCall& call) {
  TENON_ASSIGN(const CheckedCall checked, CheckCall(call));
  std::vector<Tensor> first;
  for (const OpDef::InPlacePair& pair : checked.def->in_place()) {
    const auto input = static_cast<std::size_t>(pair.input), output = static_cast<std::size_t>(pair.output);
    if (input >= call.inputs.size() || output >= checked.outputs.size()) continue;
    std::vector<Tensor> inputs, outputs;
    for (const Tensor& tensor : call.inputs) inputs.push_back(tensor.Clone());
    for (const ValueType& type : checked.outputs) outputs.emplace_back(type.dtype, type.shape.Concrete());
    Tensor& over = inputs[input];
    Tensor& result = outputs[output];
    if (!over.defined() || over.bytes() != result.bytes()) continue;
    result = Tensor::FromOwner(result.dtype(), result.shape(), std::make_shared<Tensor>(over), over.raw());
    TENON_TRY(checked.def->reference()(ReferenceArgs{checked.attrs, inputs, outputs, call.random}));
    if (first.empty()) first = outputs;
    const auto bytes = static_cast<std::size_t>(result.bytes());
    if (bytes > 0 && std::memcmp(first[output].raw(), result.raw(), bytes) != 0)
      return InvalidArgument("Output {} over input {} differs from the output over another input.", output, input);
  }
  return first.empty() ? RunReference(call) : first;
}

std::vector<Value> EagerGradBuilder::Apply(std::string_view domain, std::string_view type,
                                           std::span<const Value> inputs, Attributes attrs, int outputs) {
  const std::vector<Value> failed(static_cast<std::size_t>(outputs));
  if (!status_.ok()) return failed;
  OpCall call{std::string(domain), std::string(type), 0, std::move(attrs), {}, outputs, {}};
  for (const Value input : inputs) call.inputs.push_back(input ? tensor(input) : Tensor());
  auto result = RunReference(call);
  if (!result.ok()) {
    status_ = std::move(result).status().While(fmt::format("applying {} in a gradient", type));
    return failed;
  }
  std::vector<Value> handles;
  for (Tensor& output : result.value()) handles.push_back(Constant(std::move(output)));
  return handles;
}

Value EagerGradBuilder::Constant(Tensor tensor) {
  const ValueType type{tensor.dtype(), tensor.shape()};
  entries_.push_back({std::move(tensor), type});
  return Value{entries_.size()};
}

ValueType EagerGradBuilder::type(Value value) const { return value ? entries_[value.id - 1].type : ValueType{}; }

}  // namespace tenon::testing

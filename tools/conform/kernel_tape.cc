#include "tools/conform/kernel_tape.h"

#include <algorithm>

namespace tenon::conform {

std::vector<Value> KernelTape::Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                                     Attributes attrs, int outputs) {
  std::vector<Tensor> tensors;
  for (const Value input : inputs) tensors.push_back(input ? tensor(input) : Tensor());
  const auto def = session_.ops().Find(domain, type);
  if (!def.ok()) session_.context().Fail(def.status().message());
  const auto call = MakeCall(**def, std::move(attrs), std::move(tensors), outputs);
  if (!call.ok()) session_.context().Fail(call.status().message());
  std::vector<Value> values;
  for (Tensor& result : Run(*call)) values.push_back(Constant(std::move(result)));
  return values;
}

Value KernelTape::Constant(Tensor tensor) {
  tensors_.push_back(std::move(tensor));
  return Value{tensors_.size()};
}

ValueType KernelTape::type(Value value) const {
  return value ? ValueType{tensor(value).dtype(), tensor(value).shape()} : ValueType{};
}

std::vector<Tensor> KernelTape::Run(const OpCall& call) {
  calls_.push_back(call);
  for (const KernelOf& kernel : kernels_) {
    if (kernel.op != call.def) continue;
    KernelRun run(session_, kernel, call);
    if (run.Supports() == TENON_VERDICT_NO) continue;
    ++on_plugin_;
    return run.Run();
  }
  auto result = RunReference(call);
  if (!result.ok())
    session_.context().Fail(fmt::format("{}: no kernel takes it. {}", call.text, result.status().message()));
  return std::move(result).value();
}

std::optional<std::vector<Value>> KernelTape::Differentiate(const OpCall& call, const Tensor& weights) {
  int outputs = static_cast<int>(call.types.size());
  for (const int saved : call.def->saved_outputs()) outputs = std::max(outputs, saved + 1);
  const auto forward = MakeCall(*call.def, call.attrs, call.inputs, outputs);
  if (!forward.ok()) return std::nullopt;
  const std::vector<Tensor> results = Run(*forward);
  std::vector<Value> inputs, made, gradients(results.size()), wanted(call.inputs.size());
  std::vector<bool> needs;
  for (const Tensor& input : call.inputs) {
    inputs.push_back(input.defined() ? Constant(input) : Value{});
    needs.push_back(input.defined() && IsFloating(input.dtype()));
  }
  for (const Tensor& result : results) made.push_back(result.defined() ? Constant(result) : Value{});
  gradients[0] = Constant(weights);
  GradArgs args{call.attrs, inputs, made, gradients, needs, wanted};
  if (!call.def->gradient()(*this, args).ok()) return std::nullopt;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!needs[i]) wanted[i] = Value{};
  }
  return wanted;
}

}  // namespace tenon::conform

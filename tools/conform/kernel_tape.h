// Operators run at once, for gradients: on the plugin where it has a kernel, else on the reference.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/ops/grad_builder.h"
#include "tools/conform/kernel_run.h"

namespace tenon::conform {

class KernelTape final : public GradBuilder {
 public:
  KernelTape(Session& session, const std::vector<KernelOf>& kernels) : session_(session), kernels_(kernels) {}

  // Runs the call and its gradient, with `weights` as the gradient of output 0: the gradient of each floating input, none
  // of the others. Empty when the operator takes no further outputs or refuses to be differentiated.
  std::optional<std::vector<Value>> Differentiate(const OpCall& call, const Tensor& weights);
  const Tensor& tensor(Value value) const { return tensors_[value.id - 1]; }
  // How many calls the plugin served, and all that were made.
  int on_plugin() const { return on_plugin_; }
  const std::vector<OpCall>& calls() const { return calls_; }

  std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                           Attributes attrs, int outputs) override;
  Value Constant(Tensor tensor) override;
  ValueType type(Value value) const override;

 private:
  std::vector<Tensor> Run(const OpCall& call);
  Session& session_;
  const std::vector<KernelOf>& kernels_;
  std::deque<Tensor> tensors_;
  std::vector<OpCall> calls_;
  int on_plugin_ = 0;
};

}  // namespace tenon::conform

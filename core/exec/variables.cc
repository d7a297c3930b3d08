#include "core/exec/variables.h"

namespace tenon::exec {

std::optional<graph::LayoutId> Variables::LayoutOf(std::string_view name) const {
  const Variable* variable = Find(name);
  if (variable == nullptr) return std::nullopt;
  return variable->layout;
}

const Variables::Variable* Variables::Find(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

Result<const Variables::Variable*> Variables::Ensure(const std::string& name, const ValueType& type,
                                                     graph::LayoutId layout, bool trained) {
  const Shape shape = type.shape.Concrete();
  const auto found = variables_.find(name);
  if (found != variables_.end()) {
    const Variable& old = found->second;
    if (old.dtype != type.dtype || !(old.shape == shape) || old.layout != layout)
      return Error(Code::kInternal, "Variable '{}' is {}{} in layout '{}' but a program wants {}{} in layout '{}'.",
                   name, NameOf(old.dtype), old.shape, device_.LayoutName(old.layout), NameOf(type.dtype), shape,
                   device_.LayoutName(layout));
    return &old;
  }
  TENON_ASSIGN(const LayoutFacts facts, device_.Facts(layout, type.dtype, shape));
  TENON_ASSIGN(Buffer buffer, device_.Allocate(facts.bytes, TENON_ALLOC_WEIGHTS));
  order_.push_back(name);
  variables_.emplace(name, Variable{type.dtype, shape, layout, std::move(buffer), trained});
  const auto initial = initial_.find(name);
  if (initial == initial_.end()) {
    TENON_TRY(Set(name, Tensor(type.dtype, shape)));
  } else {
    TENON_TRY(Set(name, initial->second));
    initial_.erase(initial);
  }
  return Find(name);
}

Status Variables::Set(std::string_view name, const Tensor& value) {
  const Variable* variable = Find(name);
  if (variable == nullptr) return Error(Code::kNotFound, "There is no variable '{}'.", name);
  TENON_INVALID_IF(value.dtype() != variable->dtype || !(value.shape() == variable->shape),
                   "Variable '{}' is {}{}; the new value is {}.", name, NameOf(variable->dtype), variable->shape,
                   value.Describe());
  return device_.Store(value, variable->layout, variable->buffer.address());
}

Result<Tensor> Variables::Get(std::string_view name) const {
  const Variable* variable = Find(name);
  if (variable == nullptr) return Error(Code::kNotFound, "There is no variable '{}'.", name);
  return device_.Load(variable->dtype, variable->shape, variable->layout, variable->buffer.address());
}

const Tensor* Variables::InitialOf(std::string_view name) const {
  const auto found = initial_.find(name);
  return found == initial_.end() ? nullptr : &found->second;
}

std::vector<std::string> Variables::Names() const { return order_; }

std::int64_t Variables::bytes() const {
  std::int64_t total = 0;
  for (const auto& entry : variables_) total += entry.second.buffer.bytes();
  return total;
}

Result<std::shared_ptr<const Buffer>> Variables::Scratch(std::int64_t bytes) {
  for (const std::weak_ptr<const Buffer>& known : scratch_) {
    std::shared_ptr<const Buffer> buffer = known.lock();
    if (buffer != nullptr && buffer->bytes() >= bytes) return buffer;
  }
  TENON_ASSIGN(Buffer made, device_.Allocate(bytes, TENON_ALLOC_ARENA));
  auto buffer = std::make_shared<const Buffer>(std::move(made));
  scratch_.push_back(buffer);
  return buffer;
}

}  // namespace tenon::exec

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "core/graph/target.h"

namespace tenon::exec {

// Parameters and states of a network in device memory, by name; the programs of one session share them. Each keeps the
// layout that the first program chose; the outside sees row-major tensors only. One thread.
class Variables {
 public:
  explicit Variables(Device& device) : device_(device) {}

  struct Variable {
    DType dtype;
    Shape shape;
    graph::LayoutId layout;
    Buffer buffer;
    bool trained;
  };

  bool Has(std::string_view name) const { return variables_.find(name) != variables_.end(); }
  std::optional<graph::LayoutId> LayoutOf(std::string_view name) const;
  // Makes the variable, zero, unless it exists; an existing one must agree.
  Result<const Variable*> Ensure(const std::string& name, const ValueType& type, graph::LayoutId layout, bool trained);
  const Variable* Find(std::string_view name) const;
  Status Set(std::string_view name, const Tensor& value);  // dtype and shape must agree
  Result<Tensor> Get(std::string_view name) const;
  // Values for variables that a later Ensure makes.
  void SetInitial(const std::string& name, Tensor value) { initial_[name] = std::move(value); }
  // The value that a later Ensure will take; null: zeros, or the variable is there.
  const Tensor* InitialOf(std::string_view name) const;

  // Memory for what lives only while a program runs. Programs of one session run one after the other and share it; it
  // stays as long as one of them holds it. RESOURCE_EXHAUSTED as Device::Allocate.
  Result<std::shared_ptr<const Buffer>> Scratch(std::int64_t bytes);

  std::vector<std::string> Names() const;  // in the order in which they were made
  Device& device() const { return device_; }
  std::int64_t bytes() const;

 private:
  Device& device_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::map<std::string, Tensor, std::less<>> initial_;
  std::vector<std::string> order_;
  std::vector<std::weak_ptr<const Buffer>> scratch_;
};

}  // namespace tenon::exec

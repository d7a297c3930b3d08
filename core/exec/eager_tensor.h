#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/exec/eager_memory.h"
#include "core/ops/infer_context.h"

namespace tenon::exec {

class EagerEngine;
class EagerOp;
struct EagerBlock;
struct EagerPlan;

// Type of eager tensors: one object per (dtype, shape) of an engine, so that types are compared by address.
struct EagerType {
  ValueType value;  // all dims known
  Shape shape;
  std::int64_t bytes = 0;
  int size_class = 0;
  std::uint32_t id = 0;
};

// One result of a block.
struct EagerValue {
  EagerBlock* block = nullptr;
  const EagerType* type = nullptr;  // null: an optional result that was not made
  EagerStorage* storage = nullptr;
  std::uint64_t address = 0;
  bool requires_gradient = false;
  bool dropped = false;  // its memory was given back; while storage is null it must be computed again
};

// Where an operator was called, for messages. Must outlive the tensors that are recorded under it.
struct EagerSite {
  std::string name;   // of the node
  std::string place;  // "run.yaml:14:5", empty when there is none
};

// The results of one operator application and, while a gradient may be asked for, what it was applied to: the results
// keep their producers alive and nothing else does, so a tape needs no end. A leaf is a block without an operator.
struct EagerBlock {
  static constexpr int kInlineInputs = 4;
  static constexpr int kInlineOutputs = 2;

  std::int32_t references = 0;  // handles to results, and blocks that read them
  std::int32_t input_count = 0;
  std::int32_t output_count = 0;
  bool used_up = false;        // its inputs were let go by Gradients
  std::uint64_t sequence = 0;  // later blocks have greater numbers
  std::uint64_t mark = 0;      // run of Gradients that visits it
  std::int32_t slot = 0;       // in that run
  EagerEngine* engine = nullptr;
  EagerPlan* plan = nullptr;  // null: nothing recorded
  const EagerSite* site = nullptr;
  EagerBlock* next = nullptr;     // in lists of free and dying blocks
  EagerValue** inputs = nullptr;  // null entries: absent
  EagerValue* outputs = nullptr;
  EagerValue* inline_inputs[kInlineInputs];
  EagerValue inline_outputs[kInlineOutputs];
};

void ReleaseBlock(EagerBlock* block);  // the last reference went away

// Counted handle of a tensor on a device; copies share the memory, which no operator changes. Empty by default. Belongs
// to the thread of its engine.
class EagerTensor {
 public:
  EagerTensor() = default;
  explicit EagerTensor(EagerValue* value) : value_(value) { Hold(); }
  EagerTensor(const EagerTensor& other) : value_(other.value_) { Hold(); }
  EagerTensor(EagerTensor&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  EagerTensor& operator=(const EagerTensor& other) {
    EagerTensor copy(other);
    std::swap(value_, copy.value_);
    return *this;
  }
  EagerTensor& operator=(EagerTensor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~EagerTensor() { Let(); }

  explicit operator bool() const { return value_ != nullptr; }
  EagerValue* value() const { return value_; }
  // Lets the handle go without counting down; Adopt takes it back.
  EagerValue* Detach() { return std::exchange(value_, nullptr); }
  static EagerTensor Adopt(EagerValue* value) {
    EagerTensor tensor;
    tensor.value_ = value;
    return tensor;
  }

  // Of a tensor that is there.
  const ValueType& type() const { return value_->type->value; }
  DType dtype() const { return value_->type->value.dtype; }
  const Shape& shape() const { return value_->type->shape; }
  std::int64_t bytes() const { return value_->type->bytes; }
  std::uint64_t address() const { return value_->address; }
  bool requires_gradient() const { return value_->requires_gradient; }
  bool is_leaf() const { return value_->block->plan == nullptr; }
  void reset() { *this = EagerTensor(); }

 private:
  void Hold() {
    if (value_ != nullptr) ++value_->block->references;
  }
  void Let() {
    if (value_ != nullptr && --value_->block->references == 0) ReleaseBlock(value_->block);
  }
  EagerValue* value_ = nullptr;
};

}  // namespace tenon::exec

#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/ops/op_def.h"

namespace tenon::testing {

// One operator on given tensors: what a test asks for, and what every engine under test answers.
struct OpCall {
  std::string domain;
  std::string op;
  int version = 0;  // 0: the newest
  Attributes attrs;
  std::vector<Tensor> inputs;  // undefined: absent
  int outputs = 1;
  RandomState random;
};

// Runs the call and returns its outputs. The seam for kernels of devices: a runner that copies to a device, launches and
// copies back is checked by the same cases.
using OpRunner = std::function<Result<std::vector<Tensor>>(const OpCall&)>;

struct NamedRunner {
  std::string name;
  OpRunner run;
};

// The runners that every case goes through. Holds "reference" and "reference in place" at first.
std::vector<NamedRunner>& Runners();

// Runs the reference of the definition: attributes completed, shapes inferred, outputs allocated.
Result<std::vector<Tensor>> RunReference(const OpCall& call);

// The same with an output in the memory of an input, once for each pair that the definition allows and whose sizes agree;
// an error when two pairs give different results.
Result<std::vector<Tensor>> RunReferenceInPlace(const OpCall& call);

// Definition, completed attributes and inferred outputs of a call.
struct CheckedCall {
  const OpDef* def = nullptr;
  Attributes attrs;
  std::vector<ValueType> outputs;
};
Result<CheckedCall> CheckCall(const OpCall& call);

// Runs gradients at once on the reference kernels.
class EagerGradBuilder : public GradBuilder {
 public:
  std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                           Attributes attrs, int outputs) override;
  Value Constant(Tensor tensor) override;
  ValueType type(Value value) const override;

  const Tensor& tensor(Value value) const { return entries_[value.id - 1].tensor; }
  const Status& status() const { return status_; }  // the first failure

 private:
  struct Entry {
    Tensor tensor;
    ValueType type;
  };
  std::deque<Entry> entries_;
  Status status_;
};

}  // namespace tenon::testing

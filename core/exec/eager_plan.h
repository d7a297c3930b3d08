#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/exec/device_target.h"
#include "core/exec/eager_tensor.h"
#include "core/exec/kernel.h"

namespace tenon::exec {

// An operator with its attributes, made once per call site and then applied often. Lives as long as its engine.
class EagerOp {
 public:
  const OpDef& def() const { return *def_; }

 private:
  friend class EagerEngine;
  friend class EagerPlanner;
  const OpDef* def_ = nullptr;
  Attributes attrs_;  // as given
  std::uint64_t hash_ = 0;
  std::uint64_t value_inputs_ = 0;  // bit i: output shapes depend on the values of input i
  bool saves_ = false;              // the gradient needs further outputs
  EagerPlan* last_ = nullptr;       // plan of the last call
};

// How one operator runs on operands of given types: kernel, call record, result types. Counted: the cache and every block
// that was recorded with it.
struct EagerPlan {
  enum class Kind : std::uint8_t {
    kPlugin,
    kReference,
    kView,     // output 0 is the memory of input 0
    kNothing,  // all results are empty
  };

  std::int32_t references = 1;
  Kind kind = Kind::kNothing;
  bool converts = false;      // the kernel takes other layouts than the strided one
  bool fallback = false;      // runs on the host: the reference's tensors are copies
  std::uint32_t variant = 0;  // wanted outputs * 2 + whether those for the gradient are made
  std::uint64_t hash = 0;
  std::uint64_t last_use = 0;
  const EagerOp* op = nullptr;
  std::vector<const EagerType*> inputs;   // null: absent
  std::vector<const EagerType*> outputs;  // null: not made
  std::vector<Tensor> contents;           // by input: values that the shapes depend on, on the host
  Attributes attrs;                       // completed, padding resolved
  std::unique_ptr<graph::PlannedKernel> kernel;
  std::vector<graph::InPlaceChoice> updates;  // outputs that must be written over an input
  std::vector<graph::LayoutId> layouts;       // of inputs, then outputs; only when it converts

  std::int32_t (*execute)(tenon_kernel*, const tenon_kernel_call*, tenon_error*) = nullptr;
  tenon_kernel* handle = nullptr;
  tenon_kernel_call call{};
  std::vector<tenon_tensor> views;  // inputs, then outputs; addresses are set at each call
  std::vector<Tensor> reference_inputs, reference_outputs;

  // Activities of its calls in the log of the serial `described_in`, by site and phase.
  struct Described {
    const EagerSite* site;
    ActivityKind phase;
    std::uint32_t info;
  };
  std::vector<Described> described;
  std::uint64_t described_in = 0;
};

// Makes plans; the slow path of an engine.
class EagerPlanner {
 public:
  using TypeOf = std::function<const EagerType*(const ValueType&)>;
  EagerPlanner(DeviceTarget& target, const OpRegistry& ops, TypeOf type_of, std::uint32_t threads)
      : target_(target), ops_(ops), type_of_(std::move(type_of)), threads_(threads) {}

  // `inputs` without absent ones at the end. May find out that shapes depend on the values of inputs; then these are
  // noted in `op` and in the plan.
  Result<std::unique_ptr<EagerPlan>> Make(EagerOp& op, std::span<const EagerTensor> inputs, int outputs,
                                          bool for_gradient, const EagerSite* site);

 private:
  struct Application;  // the operator as a graph of one node
  Result<Application> Infer(const EagerOp& op, std::span<const EagerTensor> inputs, std::span<const Tensor> contents,
                            int outputs, bool for_gradient, const EagerSite* site) const;
  Result<Application> InferWithValues(EagerOp& op, std::span<const EagerTensor> inputs, std::vector<Tensor>& contents,
                                      int outputs, bool for_gradient, const EagerSite* site) const;
  Status Plan(EagerPlan& plan, const graph::KernelQuery& query);
  void PrepareCall(EagerPlan& plan);

  DeviceTarget& target_;
  const OpRegistry& ops_;
  TypeOf type_of_;
  std::uint32_t threads_;
};

std::uint64_t HashOf(const Attributes& attrs);

}  // namespace tenon::exec

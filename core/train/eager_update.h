#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/exec/eager.h"
#include "core/exec/gradient_exchange.h"
#include "core/passes/pass.h"
#include "core/train/step_scalars.h"

namespace tenon {

// What follows the gradients in mode pynative (clipping, sums over several batches, the optimiser, averages): the nodes
// that the passes append for the compiled engine, run one by one on gradients of the tape. Variables are updated where
// they lie.
class EagerUpdate {
 public:
  // `plan`: trained parameters and their gradients (inputs or states), and what to do with them. `variable` gives the
  // memory of a parameter or state.
  using VariableFn = std::function<Result<exec::EagerTensor>(const graph::ValueInfo& value)>;
  // `exchange`: sums the gradients over the ranks where the plan has buckets.
  static Result<EagerUpdate> Make(passes::Compilation plan, exec::EagerEngine& engine, const VariableFn& variable,
                                  exec::GradientExchange* exchange, Device& device);

  struct Feeds {
    StepScalars scalars;
    std::span<const exec::EagerTensor> gradients = {};  // by position in plan.trained, where they are inputs
  };
  // During the backward pass, where the plan has buckets: a gradient by its position in plan.trained. A bucket that has all its
  // gradients is launched, if those before it are. Run gets the same gradients afterwards.
  Status Offer(std::size_t gradient, const exec::EagerTensor& value);
  // Stops in front of the update where the plan scales the loss and a gradient is not finite, and where `go_on` says no
  // after the gradients were summed over the ranks.
  Status Run(const Feeds& feeds, const std::function<Result<bool>()>& go_on = {});
  bool overflowed() const { return overflowed_; }  // the last run stopped so
  // Joint norm of the gradients of the last run; nothing where the plan does not clip by norm.
  std::optional<double> gradient_norm() const { return gradient_norm_; }

 private:
  EagerUpdate(exec::EagerEngine& engine, exec::GradientExchange* exchange, Device& device)
      : engine_(&engine), exchange_(exchange), device_(&device) {}
  Status PlanBuckets();
  void ExpectGradients();
  Status Put(std::size_t bucket, const passes::GradientBucket::Slot& slot, const exec::EagerTensor& value);
  Status LaunchFull();
  Status Exchange();
  void Forget();
  Result<exec::EagerTensor> Feed(graph::ValueId id, const Feeds& feeds) const;

  exec::EagerEngine* engine_;
  exec::GradientExchange* exchange_;
  Device* device_;
  std::vector<passes::GradientBucket> buckets_;
  std::vector<std::set<graph::ValueId>> missing_;  // by bucket: gradients of this step that are not in it yet
  std::size_t launched_ = 0;                       // buckets of this step
  graph::Graph graph_;
  graph::ValueId norm_ = graph::kNone, finite_ = graph::kNone;
  bool overflowed_ = false;
  std::vector<graph::ValueId> inputs_;
  std::vector<int> gradient_of_;           // by position in inputs_; -1: a scalar
  std::vector<exec::EagerTensor> values_;  // by value; variables and constants stay
  std::vector<exec::EagerOp*> ops_;        // by node
  std::vector<exec::EagerSite> sites_;     // by node
  std::optional<double> gradient_norm_;
};

}  // namespace tenon

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/exec/eager_plan.h"
#include "core/exec/eager_tensor.h"

namespace tenon::exec {

struct EagerOptions {
  std::uint32_t threads = 1;
  std::size_t most_plans = 1024;          // the least recently used beyond are dropped
  const OpRegistry* ops = &BuiltinOps();  // must outlive the engine
};

// What one call may say besides its operands.
struct EagerCall {
  const EagerSite* site = nullptr;  // for messages
  RandomState random;               // of random operators
  // Operators that update their inputs (optimisers) write into the memory of these inputs; otherwise they work on copies.
  bool update_in_place = false;
  ActivityKind phase = ActivityKind::kForward;  // what the node is part of, for profiles
};

struct GradientOptions {
  bool retain = false;  // the recorded operators can be used again
  bool record = false;  // the gradient computation is recorded too, so that it can be differentiated
  // Called during the computation with the position of a tensor asked for and its gradient, once nothing more flows into it.
  // Not for what the loss does not depend on. An error ends the computation.
  std::function<Status(std::size_t target, const EagerTensor& gradient)> on_ready;
};

// Runs operators one by one as they are reached (mode pynative), with the kernels of the device's plugins and the
// references, and records what gradients need. What a call costs is paid once per (operator, attributes, dtypes, shapes):
// such plans are kept. Everything of one engine belongs to one thread; tensors must not outlive their engine unless
// on_last_tensor takes care of it.
class GradientExchange;

class EagerEngine {
 public:
  EagerEngine(DeviceTarget& target, const EagerOptions& options);
  ~EagerEngine();
  EagerEngine(const EagerEngine&) = delete;
  EagerEngine& operator=(const EagerEngine&) = delete;

  Device& device() { return device_; }
  // With several ranks: sums over them go through it. Must outlive the engine.
  void SetExchange(GradientExchange* exchange) { exchange_ = exchange; }

  // ---- tensors
  // A copy of `tensor` on the device.
  Result<EagerTensor> FromHost(const Tensor& tensor);
  // A tensor in device memory that `owner` keeps alive (null: the caller does) and that nobody writes while it is in use.
  EagerTensor Wrap(const ValueType& type, std::uint64_t address, std::shared_ptr<void> owner = nullptr);
  Result<Tensor> ToHost(const EagerTensor& tensor);
  Status CopyToHost(const EagerTensor& tensor, void* target, std::int64_t bytes);
  // The same memory as a leaf: what is computed from it is recorded when `requires_gradient`.
  EagerTensor Leaf(const EagerTensor& tensor, bool requires_gradient);

  // ---- operators
  // `version`: opset, 0 the newest. The result belongs to the engine and is the same for equal arguments.
  Result<EagerOp*> Op(std::string_view domain, std::string_view type, const Attributes& attrs = {}, int version = 0);
  // Applies `op`; empty handles are absent inputs. Fills all of `outputs`.
  Status Run(EagerOp& op, std::span<const EagerTensor> inputs, std::span<EagerTensor> outputs,
             const EagerCall& call = {});
  // The one-output form by name.
  Result<EagerTensor> Apply(std::string_view type, std::initializer_list<EagerTensor> inputs,
                            const Attributes& attrs = {});

  // ---- gradients
  // While false nothing is recorded.
  void set_recording(bool on) { recording_ = on; }
  bool recording() const { return recording_; }
  // d loss / d target for each target; an empty handle where none flows. `loss` has one floating-point element. The
  // recorded operators that were used cannot be used again unless options.retain.
  Result<std::vector<EagerTensor>> Gradients(const EagerTensor& loss, std::span<const EagerTensor> targets,
                                             const GradientOptions& options = {});

  // ---- recomputation
  // Gives the memory of a recorded result back. A gradient that needs it computes it again, from what its operator was
  // applied to; nobody else may use it. Does nothing for a result that is not recorded.
  void Drop(const EagerTensor& tensor);

  // ---- counts
  struct PlanCounts {
    std::int64_t hits = 0, misses = 0, evictions = 0;
  };
  const PlanCounts& plan_counts() const { return counts_; }
  std::int64_t live_blocks() const { return live_blocks_; }
  const EagerPool& pool() const { return pool_; }
  struct KernelCount {
    std::int64_t fast = 0, reference = 0, high = 0;
  };
  // Kernels that were planned, by operator.
  const std::map<std::string, KernelCount>& kernels() const { return kernels_; }
  // Operators that were planned on the host since the last call.
  std::vector<Fallback> TakeFallbacks() { return std::exchange(fallbacks_, {}); }
  // Called once, when the last tensor has gone after this was set.
  void on_last_tensor(std::function<void()> call) { on_last_tensor_ = std::move(call); }
  // The owner's own.
  void set_user(void* user) { user_ = user; }
  void* user() const { return user_; }

 private:
  friend void ReleaseBlock(EagerBlock* block);
  friend class EagerBackward;
  friend class EagerGradBuilder;

  const EagerType* TypeOf(const ValueType& type);
  EagerBlock* NewBlock(std::int32_t inputs, std::int32_t outputs);
  void FreeBlock(EagerBlock* block);
  void LetInputsGo(EagerBlock* block);
  void BuryDying();
  void Release(EagerBlock* block);
  void ReleasePlan(EagerPlan* plan);
  Status Restore(const EagerValue& value);
  void DropAgain(EagerBlock& block);

  bool Fits(const EagerPlan& plan, std::span<const EagerTensor> inputs, std::uint32_t variant) const;
  Result<EagerPlan*> FindPlan(EagerOp& op, std::span<const EagerTensor> inputs, std::uint32_t variant,
                              const EagerSite* site);
  Result<EagerPlan*> AddPlan(EagerOp& op, std::span<const EagerTensor> inputs, std::uint32_t variant,
                             const EagerSite* site);
  Status ReadContents(const EagerOp& op, std::span<const EagerTensor> inputs);
  std::uint64_t PlanHash(const EagerOp& op, std::span<const EagerTensor> inputs, std::uint32_t variant) const;
  void Evict();
  void NoteKernel(const EagerPlan& plan, const EagerSite* site);

  Status PlaceOutputs(const EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block,
                      const EagerCall& call);
  Status CallReference(EagerPlan& plan, const EagerCall& call);
  Status Execute(EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block, const EagerCall& call);
  Status Perform(EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block, const EagerCall& call) {
    return device_.activity() == nullptr ? Execute(plan, inputs, block, call)
                                         : ExecuteProfiled(plan, inputs, block, call);
  }
  Status ExecuteProfiled(EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block,
                         const EagerCall& call);
  Status ExecuteReference(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block,
                          const EagerCall& call);
  Status ExecuteFallback(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block,
                         const EagerCall& call);
  Status ExecuteConverting(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block);
  Status GrowWorkspace(const EagerPlan& plan);
  Status Failed(const EagerPlan& plan, Status status, const EagerCall& call) const;
  Status Take(const EagerType& type, EagerStorage** out) {
    *out = pool_.Take(type.size_class);
    if (*out != nullptr) [[likely]]
      return {};
    return TakeNew(type, out);
  }
  Status TakeNew(const EagerType& type, EagerStorage** out);

  DeviceTarget& target_;
  Device& device_;
  GradientExchange* exchange_ = nullptr;
  EagerOptions options_;
  EagerPool pool_;
  EagerPlanner planner_;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<EagerType>>> types_;
  std::uint32_t type_count_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<EagerOp>>> ops_;
  std::unordered_multimap<std::uint64_t, EagerPlan*> plans_;
  std::vector<Tensor> contents_;  // of the call at hand, for operators whose shapes depend on values
  PlanCounts counts_;
  std::uint64_t clock_ = 0;
  std::map<std::string, KernelCount> kernels_;
  std::vector<Fallback> fallbacks_;

  bool recording_ = true;
  std::uint64_t sequence_ = 0;
  EagerBlock* free_blocks_ = nullptr;
  EagerBlock* dying_ = nullptr;
  bool burying_ = false;
  std::int64_t live_blocks_ = 0;
  Buffer workspace_;
  std::uint64_t visit_ = 0;  // runs of Gradients so far
  std::function<void()> on_last_tensor_;
  void* user_ = nullptr;
};

}  // namespace tenon::exec

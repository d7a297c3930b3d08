// Gradients of what an eager engine recorded: the blocks that the loss depends on, latest first, each through the
// gradient function of its operator.
#include <algorithm>
#include <unordered_map>

#include "core/exec/eager.h"

namespace tenon::exec {

// Applies the operators that a gradient function asks for at once. Handles are addresses of values; what is made stays
// alive until Clear.
class EagerGradBuilder final : public GradBuilder {
 public:
  explicit EagerGradBuilder(EagerEngine& engine) : engine_(engine) {}

  static Value HandleOf(const EagerValue* value) { return Value{reinterpret_cast<std::uint64_t>(value)}; }
  static EagerValue* ValueOf(Value handle) { return reinterpret_cast<EagerValue*>(handle.id); }
  static Value HandleOf(const EagerTensor& tensor) { return HandleOf(tensor.value()); }

  void SetSite(const EagerSite* site) { site_ = site; }
  const Status& status() const { return status_; }
  void Clear() { made_.clear(); }

  std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                           Attributes attrs, int outputs) override {
    std::vector<Value> results(static_cast<std::size_t>(outputs));
    if (!status_.ok()) return results;
    auto op = engine_.Op(domain, type, attrs);
    if (!op.ok()) {
      status_ = std::move(op).status();
      return results;
    }
    RunOp(**op, inputs, results);
    return results;
  }

  void RunOp(EagerOp& op, std::span<const Value> inputs, std::span<Value> results) {
    operands_.clear();
    for (const Value input : inputs) operands_.push_back(input ? EagerTensor(ValueOf(input)) : EagerTensor());
    produced_.assign(results.size(), EagerTensor());
    for (const EagerTensor& operand : operands_) {
      if (operand && status_.ok()) status_ = engine_.Restore(*operand.value());
    }
    if (!status_.ok()) return;
    EagerCall call;
    call.site = site_;
    call.phase = ActivityKind::kBackward;
    status_ = engine_.Run(op, operands_, produced_, call);
    operands_.clear();
    if (!status_.ok()) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = HandleOf(produced_[i]);
      if (produced_[i]) made_.push_back(std::move(produced_[i]));
    }
  }

  Value Constant(Tensor tensor) override {
    if (!status_.ok()) return {};
    auto constant = engine_.FromHost(tensor);
    if (!constant.ok()) {
      status_ = std::move(constant).status();
      return {};
    }
    made_.push_back(std::move(constant).value());
    return HandleOf(made_.back());
  }

  ValueType type(Value value) const override { return value ? ValueOf(value)->type->value : ValueType{}; }

 private:
  EagerEngine& engine_;
  const EagerSite* site_ = nullptr;
  Status status_;
  std::vector<EagerTensor> made_, operands_, produced_;
};

class EagerBackward {
 public:
  EagerBackward(EagerEngine& engine, const GradientOptions& options)
      : engine_(engine), options_(options), builder_(engine) {}

  Result<std::vector<EagerTensor>> Run(const EagerTensor& loss, std::span<const EagerTensor> targets) {
    TENON_TRY(CheckLoss(loss));
    Collect(loss.value()->block);
    MarkDependent(targets);
    TENON_INVALID_IF(!Depends(loss.value()), "The loss was not computed from any of the {} tensors asked for.",
                     targets.size());
    TENON_ASSIGN(EagerTensor one, One(loss));
    Push(loss.value(), std::move(one));
    if (options_.on_ready) FindFirstUsers(targets);
    for (auto at = blocks_.rbegin(); at != blocks_.rend(); ++at) {
      TENON_TRY(Visit(**at));
      if (!ready_after_.empty()) TENON_TRY(Report(**at, targets));
    }
    std::vector<EagerTensor> gradients;
    for (const EagerTensor& target : targets) {
      const bool reached = target && target.value()->block->mark == engine_.visit_;
      EagerTensor gradient;
      if (reached) {
        TENON_ASSIGN(gradient, Take(target.value()));
      }
      gradients.push_back(std::move(gradient));
    }
    if (!options_.retain && !options_.record) LetTapeGo();
    return gradients;
  }

 private:
  // Parts of the gradient of one value, not yet summed, in the order in which they came.
  struct Slot {
    bool depends = false;
    EagerTensor first;
    std::vector<EagerTensor> more;
  };

  static Status CheckLoss(const EagerTensor& loss) {
    TENON_INVALID_IF(!loss, "There is no loss: the tensor is empty.");
    TENON_INVALID_IF(!IsFloating(loss.dtype()) || loss.shape().elements() != 1,
                     "The loss must be one floating-point number; it is {}.", loss.type().ToString());
    return {};
  }

  // All blocks that lead to the loss, earlier ones first.
  void Collect(EagerBlock* last) {
    const std::uint64_t visit = ++engine_.visit_;
    last->mark = visit;
    blocks_.push_back(last);
    bool sorted = true;
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
      const EagerBlock* block = blocks_[at];
      for (std::int32_t i = 0; i < block->input_count; ++i) {
        EagerValue* input = block->inputs[i];
        if (input == nullptr || input->block->mark == visit) continue;
        input->block->mark = visit;
        sorted = sorted && input->block->sequence < blocks_.back()->sequence;
        blocks_.push_back(input->block);
      }
    }
    if (sorted) {
      std::reverse(blocks_.begin(), blocks_.end());
    } else {
      std::sort(blocks_.begin(), blocks_.end(),
                [](const EagerBlock* a, const EagerBlock* b) { return a->sequence < b->sequence; });
    }
    std::size_t slots = 0;
    for (EagerBlock* block : blocks_) {
      block->slot = static_cast<std::int32_t>(slots);
      slots += static_cast<std::size_t>(block->output_count);
    }
    slots_ = std::vector<Slot>(slots);
  }

  Slot& SlotOf(const EagerValue* value) {
    return slots_[static_cast<std::size_t>(value->block->slot + (value - value->block->outputs))];
  }
  bool Depends(const EagerValue* value) { return value != nullptr && SlotOf(value).depends; }

  void MarkDependent(std::span<const EagerTensor> targets) {
    for (const EagerTensor& target : targets) {
      if (target && target.value()->block->mark == engine_.visit_) SlotOf(target.value()).depends = true;
    }
    for (EagerBlock* block : blocks_) {
      bool any = false;
      for (std::int32_t i = 0; i < block->input_count; ++i) any = any || Depends(block->inputs[i]);
      // A block whose tape was let go leads nowhere, but stands for what was recorded: Visit reports it.
      any = any || block->used_up;
      if (!any) continue;
      for (std::int32_t i = 0; i < block->output_count; ++i) {
        const EagerValue& output = block->outputs[i];
        if (output.type != nullptr && IsFloating(output.type->value.dtype)) SlotOf(&output).depends = true;
      }
    }
  }

  // Gradients flow from later blocks: that of a target is whole after the first block that reads it.
  void FindFirstUsers(std::span<const EagerTensor> targets) {
    std::unordered_map<const EagerValue*, std::size_t> waiting;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i]) waiting.emplace(targets[i].value(), i);
    }
    for (const EagerBlock* block : blocks_) {
      for (std::int32_t i = 0; i < block->input_count; ++i) {
        const auto target = waiting.find(block->inputs[i]);
        if (target == waiting.end()) continue;
        ready_after_[block].push_back(target->second);
        waiting.erase(target);
      }
    }
  }

  Status Report(const EagerBlock& visited, std::span<const EagerTensor> targets) {
    const auto ready = ready_after_.find(&visited);
    if (ready == ready_after_.end()) return {};
    for (const std::size_t target : ready->second) {
      TENON_ASSIGN(const EagerTensor gradient, Take(targets[target].value()));
      if (gradient) TENON_TRY(options_.on_ready(target, gradient));
    }
    return {};
  }

  Result<EagerTensor> One(const EagerTensor& loss) {
    Tensor one(DType::kF64, loss.shape());
    one.data<double>()[0] = 1.0;
    return engine_.FromHost(Cast(one, loss.dtype()));
  }

  void Push(const EagerValue* value, EagerTensor gradient) {
    Slot& slot = SlotOf(value);
    if (!slot.depends) return;
    if (!slot.first) {
      slot.first = std::move(gradient);
    } else {
      slot.more.push_back(std::move(gradient));
    }
  }

  // Sum of everything that flowed into a value, in the order and with the operators of the compiled engine.
  Result<EagerTensor> Take(const EagerValue* value) {
    Slot& slot = SlotOf(value);
    if (slot.more.empty()) return slot.first;
    std::vector<Value> parts = {EagerGradBuilder::HandleOf(slot.first)};
    for (const EagerTensor& part : slot.more) parts.push_back(EagerGradBuilder::HandleOf(part));
    const std::vector<Value> sum = builder_.Apply("", parts.size() == 2 ? "Add" : "Sum", parts, {}, 1);
    TENON_TRY(Status(builder_.status()));
    slot.first = EagerTensor(EagerGradBuilder::ValueOf(sum[0]));
    slot.more.clear();
    return slot.first;
  }

  static std::string NameOf(const EagerBlock& block) {
    return block.site == nullptr ? block.plan->op->def().type() : block.site->name;
  }

  Status UsedUp(const EagerBlock& block) const {
    return Error(
        Code::kFailedPrecondition,
        "The recorded operators of '{}' ({}) were used by an earlier Gradients call and let go. Ask that call to "
        "retain them.",
        NameOf(block), block.plan->op->def().FullName());
  }

  Status Visit(EagerBlock& block) {
    if (block.plan == nullptr) return {};
    bool wanted = block.used_up;
    for (std::int32_t i = 0; i < block.input_count; ++i) wanted = wanted || Depends(block.inputs[i]);
    if (!wanted) return {};
    builder_.SetSite(block.site);
    output_grads_.clear();
    bool any = false;
    for (std::int32_t i = 0; i < block.output_count; ++i) {
      TENON_ASSIGN(const EagerTensor gradient, Take(block.outputs + i));
      output_grads_.push_back(EagerGradBuilder::HandleOf(gradient));
      any = any || gradient;
    }
    if (!any) return {};
    if (block.used_up) return UsedUp(block);
    const OpDef& def = block.plan->op->def();
    if (!def.differentiable())
      return InvalidArgument(
                 "Operator {} declares no gradient, but node '{}' lies between a tensor asked for and the loss.",
                 def.NameAndOrigin(), NameOf(block))
          .At(block.site == nullptr ? "" : block.site->place);
    return Differentiate(block, def);
  }

  Status Differentiate(EagerBlock& block, const OpDef& def) {
    inputs_.clear();
    outputs_.clear();
    needs_.clear();
    for (std::int32_t i = 0; i < block.input_count; ++i) {
      inputs_.push_back(EagerGradBuilder::HandleOf(block.inputs[i]));
      needs_.push_back(Depends(block.inputs[i]));
    }
    for (std::int32_t i = 0; i < block.output_count; ++i) {
      const EagerValue& output = block.outputs[i];
      outputs_.push_back(output.type == nullptr ? Value{} : EagerGradBuilder::HandleOf(&output));
    }
    input_grads_.assign(inputs_.size(), Value{});
    GradArgs args{block.plan->attrs, inputs_, outputs_, output_grads_, needs_, input_grads_};
    Status status = def.gradient()(builder_, args);
    if (status.ok()) status = builder_.status();
    for (std::size_t i = 0; i < input_grads_.size() && status.ok(); ++i) {
      if (input_grads_[i])
        status = Keep(block, block.inputs[i], EagerTensor(EagerGradBuilder::ValueOf(input_grads_[i])));
    }
    builder_.Clear();
    engine_.DropAgain(block);
    if (status.ok()) [[likely]]
      return status;
    return std::move(status).While(
        fmt::format("computing the gradient of node '{}' ({})", NameOf(block), def.FullName()));
  }

  Status Keep(const EagerBlock& block, const EagerValue* input, EagerTensor gradient) {
    if (input == nullptr) return {};
    if (gradient.value()->type != input->type)
      return Error(Code::kInternal, "The gradient of node '{}' ({}) has type {}; the value has {}.", NameOf(block),
                   block.plan->op->def().FullName(), gradient.type().ToString(), input->type->value.ToString());
    Push(input, std::move(gradient));
    return {};
  }

  // Lets the inputs of all blocks go that a gradient went through.
  void LetTapeGo() {
    std::vector<EagerTensor> alive;  // until the last block is done: a released input may be the next one here
    for (EagerBlock* block : blocks_) {
      if (block->plan != nullptr && block->output_count > 0) alive.emplace_back(block->outputs);
    }
    for (EagerBlock* block : blocks_) {
      if (block->plan == nullptr) continue;
      bool used = false;
      for (std::int32_t i = 0; i < block->input_count; ++i) used = used || Depends(block->inputs[i]);
      block->used_up = used;
    }
    for (EagerBlock* block : blocks_) {
      if (block->used_up) engine_.LetInputsGo(block);
    }
    engine_.BuryDying();
  }

  EagerEngine& engine_;
  GradientOptions options_;
  EagerGradBuilder builder_;
  std::vector<EagerBlock*> blocks_;
  std::vector<Slot> slots_;
  std::unordered_map<const EagerBlock*, std::vector<std::size_t>> ready_after_;  // positions of targets
  std::vector<Value> inputs_, outputs_, output_grads_, input_grads_;
  std::vector<bool> needs_;
};

Result<std::vector<EagerTensor>> EagerEngine::Gradients(const EagerTensor& loss, std::span<const EagerTensor> targets,
                                                        const GradientOptions& options) {
  const bool recorded = recording_;
  recording_ = options.record;
  Result<std::vector<EagerTensor>> gradients = [&]() -> Result<std::vector<EagerTensor>> {
    EagerBackward backward(*this, options);
    return backward.Run(loss, targets);
  }();
  recording_ = recorded;
  if (gradients.ok()) return gradients;
  return std::move(gradients).status().While("computing gradients");
}

}  // namespace tenon::exec

#include "core/exec/eager.h"

#include <algorithm>
#include <cstring>

#include "core/base/hash_mix.h"
#include "core/exec/gradient_exchange.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {
namespace {

std::span<const EagerTensor> WithoutAbsentEnd(std::span<const EagerTensor> inputs) {
  std::size_t count = inputs.size();
  while (count > 0 && !inputs[count - 1]) --count;
  return inputs.first(count);
}

bool IsFloatingResult(const EagerType* type) { return type != nullptr && IsFloating(type->value.dtype); }

}  // namespace

EagerEngine::EagerEngine(DeviceTarget& target, const EagerOptions& options)
    : target_(target),
      device_(target.device()),
      options_(options),
      pool_(device_),
      planner_(
          target, *options.ops, [this](const ValueType& type) { return TypeOf(type); }, options.threads) {}

EagerEngine::~EagerEngine() {
  for (const auto& entry : plans_) ReleasePlan(entry.second);
  while (free_blocks_ != nullptr) {
    EagerBlock* block = free_blocks_;
    free_blocks_ = block->next;
    delete block;
  }
}

// ---- tensors

const EagerType* EagerEngine::TypeOf(const ValueType& type) {
  const Shape shape = type.shape.Concrete();
  std::uint64_t hash = HashMix(static_cast<std::uint64_t>(type.dtype), static_cast<std::uint64_t>(shape.rank()));
  for (const std::int64_t dim : shape.dims()) hash = HashMix(hash, static_cast<std::uint64_t>(dim));
  auto& bucket = types_[hash];
  for (const auto& known : bucket) {
    if (known->value.dtype == type.dtype && known->shape == shape) return known.get();
  }
  auto made = std::make_unique<EagerType>();
  made->value = type;
  made->shape = shape;
  made->bytes = shape.elements() * SizeOf(type.dtype);
  made->size_class = EagerPool::ClassOf(made->bytes);
  made->id = type_count_++;
  bucket.push_back(std::move(made));
  return bucket.back().get();
}

Status EagerEngine::TakeNew(const EagerType& type, EagerStorage** out) {
  TENON_ASSIGN(*out, pool_.Grow(type.size_class));
  return {};
}

Result<EagerTensor> EagerEngine::FromHost(const Tensor& tensor) {
  const EagerType* type = TypeOf({tensor.dtype(), SymShape(tensor.shape())});
  EagerStorage* storage = nullptr;
  TENON_TRY(Take(*type, &storage));
  EagerBlock* block = NewBlock(0, 1);
  block->outputs[0] = {block, type, storage, storage->address, false};
  EagerTensor made(block->outputs);
  if (device_.host_accessible() && device_.inline_streams()) {
    if (type->bytes > 0)
      std::memcpy(reinterpret_cast<void*>(storage->address), tensor.raw(), static_cast<std::size_t>(type->bytes));
    return made;
  }
  TENON_TRY(device_.CopyFromHost(tensor.raw(), storage->address, type->bytes));
  return made;
}

EagerTensor EagerEngine::Wrap(const ValueType& type, std::uint64_t address, std::shared_ptr<void> owner) {
  EagerStorage* storage = pool_.Wrap(address, std::move(owner));
  EagerBlock* block = NewBlock(0, 1);
  block->outputs[0] = {block, TypeOf(type), storage, address, false};
  return EagerTensor(block->outputs);
}

Result<Tensor> EagerEngine::ToHost(const EagerTensor& tensor) {
  return device_.Load(tensor.dtype(), tensor.shape(), graph::kStrided, tensor.address());
}

Status EagerEngine::CopyToHost(const EagerTensor& tensor, void* target, std::int64_t bytes) {
  TENON_INVALID_IF(bytes != tensor.bytes(), "The tensor {} has {} bytes; the target has {}.", tensor.type().ToString(),
                   tensor.bytes(), bytes);
  return device_.CopyToHost(tensor.address(), target, bytes);
}

EagerTensor EagerEngine::Leaf(const EagerTensor& tensor, bool requires_gradient) {
  EagerBlock* block = NewBlock(0, 1);
  const EagerValue& from = *tensor.value();
  ++from.storage->references;
  block->outputs[0] = {block, from.type, from.storage, from.address, requires_gradient};
  return EagerTensor(block->outputs);
}

// ---- blocks

EagerBlock* EagerEngine::NewBlock(std::int32_t inputs, std::int32_t outputs) {
  EagerBlock* block = free_blocks_;
  if (block != nullptr) {
    free_blocks_ = block->next;
  } else {
    block = new EagerBlock;
    block->engine = this;
  }
  block->references = 0;
  block->input_count = inputs;
  block->output_count = outputs;
  block->used_up = false;
  block->sequence = ++sequence_;
  block->plan = nullptr;
  block->site = nullptr;
  block->inputs =
      inputs <= EagerBlock::kInlineInputs ? block->inline_inputs : new EagerValue*[static_cast<std::size_t>(inputs)];
  block->outputs =
      outputs <= EagerBlock::kInlineOutputs ? block->inline_outputs : new EagerValue[static_cast<std::size_t>(outputs)];
  ++live_blocks_;
  return block;
}

// Inputs are let go one level at a time: a long chain must not recurse.
void EagerEngine::LetInputsGo(EagerBlock* block) {
  for (std::int32_t i = 0; i < block->input_count; ++i) {
    EagerValue* input = block->inputs[i];
    if (input == nullptr || --input->block->references > 0) continue;
    input->block->next = dying_;
    dying_ = input->block;
  }
  if (block->inputs != block->inline_inputs) delete[] block->inputs;
  block->inputs = block->inline_inputs;
  block->input_count = 0;
}

void EagerEngine::FreeBlock(EagerBlock* block) {
  LetInputsGo(block);
  if (block->plan != nullptr) ReleasePlan(block->plan);
  for (std::int32_t i = 0; i < block->output_count; ++i) {
    if (block->outputs[i].storage != nullptr) pool_.Release(block->outputs[i].storage);
  }
  if (block->outputs != block->inline_outputs) delete[] block->outputs;
  block->next = free_blocks_;
  free_blocks_ = block;
  --live_blocks_;
}

void EagerEngine::Release(EagerBlock* block) {
  block->next = dying_;
  dying_ = block;
  BuryDying();
}

void EagerEngine::BuryDying() {
  if (burying_) return;
  burying_ = true;
  while (dying_ != nullptr) {
    EagerBlock* last = dying_;
    dying_ = last->next;
    FreeBlock(last);
  }
  burying_ = false;
  if (live_blocks_ != 0 || !on_last_tensor_) [[likely]]
    return;
  const auto call = std::move(on_last_tensor_);  // may end this engine
  call();
}

void ReleaseBlock(EagerBlock* block) { block->engine->Release(block); }

void EagerEngine::ReleasePlan(EagerPlan* plan) {
  if (--plan->references == 0) delete plan;
}

// ---- calls

bool EagerEngine::Fits(const EagerPlan& plan, std::span<const EagerTensor> inputs, std::uint32_t variant) const {
  if (plan.variant != variant || plan.inputs.size() != inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EagerValue* value = inputs[i].value();
    if (plan.inputs[i] != (value == nullptr ? nullptr : value->type)) return false;
  }
  if (plan.op->value_inputs_ == 0) [[likely]]
    return true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool matters = i < 64 && (plan.op->value_inputs_ >> i & 1u) != 0 && contents_[i].defined();
    if (!matters) continue;
    if (i >= plan.contents.size() || !plan.contents[i].defined()) return false;
    const auto bytes = static_cast<std::size_t>(contents_[i].bytes());
    if (bytes > 0 && std::memcmp(plan.contents[i].raw(), contents_[i].raw(), bytes) != 0) return false;
  }
  return true;
}

Status EagerEngine::Run(EagerOp& op, std::span<const EagerTensor> given, std::span<EagerTensor> outputs,
                        const EagerCall& call) {
  const std::span<const EagerTensor> inputs = WithoutAbsentEnd(given);
  bool record = false;
  if (recording_ && !op.def_->no_gradient()) {
    for (const EagerTensor& input : inputs) record = record || (input && input.value()->requires_gradient);
  }
  const auto variant =
      static_cast<std::uint32_t>(outputs.size()) << 1 | static_cast<std::uint32_t>(record && op.saves_);
  EagerPlan* plan = op.last_;
  ++counts_.hits;
  if (plan == nullptr || op.value_inputs_ != 0 || !Fits(*plan, inputs, variant)) [[unlikely]] {
    TENON_ASSIGN(plan, FindPlan(op, inputs, variant, call.site));
    op.last_ = plan;
  }
  plan->last_use = ++clock_;

  EagerBlock* block =
      NewBlock(record ? static_cast<std::int32_t>(inputs.size()) : 0, static_cast<std::int32_t>(plan->outputs.size()));
  for (std::int32_t i = 0; i < block->output_count; ++i) block->outputs[i] = EagerValue{};
  for (std::int32_t i = 0; i < block->input_count; ++i) block->inputs[i] = nullptr;
  ++block->references;  // until the call has succeeded
  Status status = PlaceOutputs(*plan, inputs, *block, call);
  if (status.ok()) status = Perform(*plan, inputs, *block, call);
  if (!status.ok()) [[unlikely]] {
    --block->references;
    Release(block);
    return status;
  }
  if (record) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EagerValue* input = inputs[i].value();
      block->inputs[i] = input;
      if (input != nullptr) ++input->block->references;
    }
    ++plan->references;
    block->plan = plan;
    block->site = call.site;
    for (std::int32_t i = 0; i < block->output_count; ++i)
      block->outputs[i].requires_gradient = IsFloatingResult(block->outputs[i].type);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EagerValue* made = block->outputs + i;
    outputs[i] = made->type == nullptr ? EagerTensor() : EagerTensor(made);
  }
  if (--block->references == 0) [[unlikely]]
    Release(block);
  return {};
}

Result<EagerTensor> EagerEngine::Apply(std::string_view type, std::initializer_list<EagerTensor> inputs,
                                       const Attributes& attrs) {
  TENON_ASSIGN(EagerOp * op, Op("", type, attrs));
  EagerTensor result;
  TENON_TRY(Run(*op, std::span<const EagerTensor>(inputs.begin(), inputs.size()), std::span<EagerTensor>(&result, 1)));
  return result;
}

Status EagerEngine::PlaceOutputs(const EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block,
                                 const EagerCall& call) {
  const auto share = [&](EagerValue& output, const EagerValue& input) {
    ++input.storage->references;
    output.storage = input.storage;
    output.address = input.address;
  };
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    EagerValue& output = block.outputs[i];
    output.block = &block;
    output.type = plan.outputs[i];
    if (output.type == nullptr) continue;
    if (plan.kind == EagerPlan::Kind::kView && i == 0) {
      share(output, *inputs[0].value());
      continue;
    }
    const graph::InPlaceChoice* update = nullptr;
    for (const graph::InPlaceChoice& choice : plan.updates) {
      if (static_cast<std::size_t>(choice.output) == i) update = &choice;
    }
    if (update != nullptr && call.update_in_place) {
      share(output, *inputs[static_cast<std::size_t>(update->input)].value());
      continue;
    }
    TENON_TRY(Take(*output.type, &output.storage));
    output.address = output.storage->address;
    if (update != nullptr)
      TENON_TRY(device_.CopyOnDevice(inputs[static_cast<std::size_t>(update->input)].address(), output.address,
                                     output.type->bytes));
  }
  return {};
}

Status EagerEngine::Execute(EagerPlan& plan, std::span<const EagerTensor> inputs, EagerBlock& block,
                            const EagerCall& call) {
  if (plan.fallback) [[unlikely]]
    return Failed(plan, ExecuteFallback(plan, inputs, block, call), call);
  if (plan.kind == EagerPlan::Kind::kReference) return Failed(plan, ExecuteReference(plan, inputs, block, call), call);
  if (plan.kind != EagerPlan::Kind::kPlugin) return {};
  tenon_kernel_call& record = plan.call;
  record.rng_key = call.random.key;
  record.rng_offset = call.random.offset;
  record.workspace = record.workspace_bytes == 0 ? 0 : workspace_.address();
  if (plan.converts) [[unlikely]]
    return Failed(plan, ExecuteConverting(plan, inputs, block), call);
  tenon_tensor* view = plan.views.data();
  for (const EagerTensor& input : inputs) (view++)->address = input ? input.value()->address : 0;
  for (std::int32_t i = 0; i < block.output_count; ++i) (view++)->address = block.outputs[i].address;
  for (const graph::InPlaceChoice& update : plan.updates)
    plan.views[static_cast<std::size_t>(update.input)].address = block.outputs[update.output].address;
  tenon_error error;
  const std::int32_t code = ExecuteKernel(plan.execute, plan.handle, &record, &error);
  if (code == TENON_OK) [[likely]]
    return {};
  return Failed(plan, ToStatus(code, error, ""), call);
}

// References know one process; what has to be added up over the others is added up here.
Status EagerEngine::CallReference(EagerPlan& plan, const EagerCall& call) {
  const ReferenceArgs args{plan.attrs, plan.reference_inputs, plan.reference_outputs, call.random};
  TENON_TRY(plan.op->def().reference()(args));
  if (exchange_ == nullptr || !SumsOverRanks(plan.op->def())) return {};
  return exchange_->SumNow(plan.reference_outputs[0].values<float>(), plan.attrs.Int("of_gradient", 0) != 0);
}

Status EagerEngine::ExecuteReference(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block,
                                     const EagerCall& call) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) plan.reference_inputs[i].PointTo(reinterpret_cast<void*>(inputs[i].address()));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i] != nullptr)
      plan.reference_outputs[i].PointTo(reinterpret_cast<void*>(block.outputs[i].address));
  }
  for (const graph::InPlaceChoice& update : plan.updates)
    plan.reference_inputs[static_cast<std::size_t>(update.input)].PointTo(
        reinterpret_cast<void*>(block.outputs[update.output].address));
  return CallReference(plan, call);
}

// On copies of the operands; results of operators that update an input go over its memory, which the block shares.
Status EagerEngine::ExecuteFallback(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block,
                                    const EagerCall& call) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) TENON_TRY(CopyToHost(inputs[i], plan.reference_inputs[i].raw(), inputs[i].bytes()));
  }
  TENON_TRY(CallReference(plan, call));
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const Tensor& made = plan.reference_outputs[i];
    if (made.defined()) TENON_TRY(device_.CopyFromHost(made.raw(), block.outputs[i].address, made.bytes()));
  }
  return {};
}

// A kernel without a strided form: operands go through copies in its layouts.
Status EagerEngine::ExecuteConverting(EagerPlan& plan, std::span<const EagerTensor> inputs, const EagerBlock& block) {
  std::vector<Buffer> copies;
  const std::size_t count = plan.inputs.size();
  std::vector<std::pair<std::size_t, std::uint64_t>> results;  // output, its strided address
  for (std::size_t operand = 0; operand < plan.views.size(); ++operand) {
    tenon_tensor& view = plan.views[operand];
    const bool is_input = operand < count;
    const EagerType* type = is_input ? plan.inputs[operand] : plan.outputs[operand - count];
    if (type == nullptr) continue;
    const std::uint64_t strided = is_input ? inputs[operand].address() : block.outputs[operand - count].address;
    view.address = strided;
    if (plan.layouts[operand] == graph::kStrided) continue;
    TENON_ASSIGN(const LayoutFacts facts, device_.Facts(plan.layouts[operand], type->value.dtype, type->shape));
    TENON_ASSIGN(Buffer copy, device_.Allocate(facts.bytes, TENON_ALLOC_TEMPORARY));
    view.address = copy.address();
    copies.push_back(std::move(copy));
    if (!is_input) {
      results.emplace_back(operand, strided);
      continue;
    }
    TENON_TRY(device_.Reorder(
        ViewOf(type->value.dtype, type->shape, graph::kStrided, strided, device_.host_accessible()), view));
  }
  tenon_error error;
  TENON_TRY(ToStatus(ExecuteKernel(plan.execute, plan.handle, &plan.call, &error), error, ""));
  for (const auto& result : results) {
    const EagerType* type = plan.outputs[result.first - count];
    TENON_TRY(device_.Reorder(plan.views[result.first], ViewOf(type->value.dtype, type->shape, graph::kStrided,
                                                               result.second, device_.host_accessible())));
  }
  return device_.Synchronize();  // the copies go away
}

Status EagerEngine::Failed(const EagerPlan& plan, Status status, const EagerCall& call) const {
  if (status.ok()) return status;
  const std::string& type = plan.op->def().type();
  const std::string kernel =
      plan.kernel->is_reference() ? "its reference" : fmt::format("kernel {}", plan.kernel->name());
  return std::move(status)
      .At(call.site == nullptr ? "" : call.site->place)
      .While(fmt::format("running node '{}' ({}) with {}", call.site == nullptr ? type : call.site->name,
                         plan.op->def().FullName(), kernel));
}

}  // namespace tenon::exec

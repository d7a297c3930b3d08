#include "core/exec/program.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "core/exec/call_stream.h"
#include "core/exec/random_key.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"

namespace tenon::exec {
namespace {

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

bool IsRandom(const graph::Node& node, const graph::PlannedKernel* kernel) {
  return kernel != nullptr && (node.def == nullptr || node.def->random());
}

}  // namespace

Result<std::unique_ptr<Program>> Program::Build(passes::Compilation compilation, Variables& variables,
                                                std::uint32_t threads, GradientExchange* exchange) {
  std::unique_ptr<Program> program(new Program(std::move(compilation), variables, threads, exchange));
  TENON_TRY_WHILE(program->Prepare(), "preparing the program of graph '{}'", program->graph().name);
  return program;
}

Status Program::Prepare() {
  TENON_TRY(PlaceValues());
  TENON_TRY(PlaceBuckets());
  std::size_t operands = 0;
  for (const graph::NodeId id : graph().LiveNodes())
    operands += graph().node(id).inputs.size() + graph().node(id).outputs.size();
  views_.reserve(operands);  // views are pointed to: the vector must not move
  view_values_.reserve(operands);
  std::set<graph::NodeId> forward;  // up to the loss
  for (const graph::NodeId id : graph().LiveNodes()) {
    TENON_TRY(AddNode(id));
    if (loss_end_ == 0) forward.insert(id);
    const graph::ValueId loss = compilation_.loss;
    const bool makes_loss = loss != graph::kNone && graph().value(loss).producer == id;
    if (makes_loss) loss_end_ = steps_.size();
    const graph::ValueId finite = compilation_.finite;
    if (finite != graph::kNone && graph().value(finite).producer == id) finite_end_ = steps_.size();
  }
  for (const graph::Update& update : compilation_.memory.copies) {
    Step step;
    step.kind = Step::Kind::kCopy;
    step.node = graph().value(update.value).producer;
    step.copied = update.value;
    step.source = AddressOf(update.value);
    step.target = AddressOf(update.state);
    step.bytes = compilation_.memory.bytes[Index(update.state)];
    step.forward = forward.count(step.node) > 0;
    steps_.push_back(step);
  }
  if (compilation_.loss == graph::kNone) loss_end_ = steps_.size();
  for (Step& step : steps_) {
    step.call.inputs = views_.data() + step.first_view;
    step.call.outputs = views_.data() + step.first_view + step.inputs;
  }
  LinkFeeds();
  return {};
}

Status Program::PlaceValues() {
  const graph::Graph& g = graph();
  const passes::MemoryPlan& plan = compilation_.memory;
  addresses_.assign(Index(g.num_values()), 0);
  TENON_ASSIGN_WHILE(arena_, variables_.Scratch(plan.arena_bytes), "allocating the arena of the program");
  for (graph::ValueId id = 0; id < g.num_values(); ++id) {
    const graph::ValueInfo& value = g.value(id);
    shapes_.push_back(value.type.defined() && value.type.shape.known() ? value.type.shape.Concrete() : Shape{});
    const graph::LayoutId layout = compilation_.LayoutOf(id);
    switch (value.kind) {
      case graph::ValueKind::kParameter:
      case graph::ValueKind::kState: {
        const bool trained = value.kind == graph::ValueKind::kParameter;
        TENON_ASSIGN(const Variables::Variable* variable, variables_.Ensure(value.name, value.type, layout, trained));
        addresses_[Index(id)] = variable->buffer.address();
        break;
      }
      case graph::ValueKind::kConstant: {
        TENON_ASSIGN(const LayoutFacts facts, device_.Facts(layout, value.type.dtype, shapes_.back()));
        TENON_ASSIGN(Buffer buffer, device_.Allocate(facts.bytes, TENON_ALLOC_WEIGHTS));
        TENON_TRY(device_.Store(value.constant, layout, buffer.address()));
        addresses_[Index(id)] = buffer.address();
        constants_.push_back(std::move(buffer));
        break;
      }
      case graph::ValueKind::kInput: {
        FedInput fed;
        fed.value = id;
        fed.bytes = plan.bytes[Index(id)];
        if (!device_.host_accessible()) {
          TENON_ASSIGN(fed.staged, device_.Allocate(fed.bytes, TENON_ALLOC_DEFAULT));
          addresses_[Index(id)] = fed.staged.address();
        }
        feed_names_[value.name] = static_cast<int>(feeds_.size());
        feeds_.push_back(std::move(fed));
        break;
      }
      case graph::ValueKind::kResult:
        if (plan.arena_offset[Index(id)] >= 0)
          addresses_[Index(id)] = arena_->address() + static_cast<std::uint64_t>(plan.arena_offset[Index(id)]);
        break;
    }
  }
  return {};
}

// Gradients and their sums live in the memory of the exchange.
Status Program::PlaceBuckets() {
  const std::vector<passes::GradientBucket>& buckets = compilation_.memory.buckets;
  bucket_of_.assign(Index(graph().num_values()), -1);
  if (buckets.empty()) return {};
  TENON_TRY(exchange_->Prepare(buckets));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (const passes::GradientBucket::Slot& slot : buckets[i].slots) {
      const auto offset = static_cast<std::uint64_t>(slot.offset);
      addresses_[Index(slot.result)] = exchange_->receive(i) + offset;
      if (slot.in_place)
        addresses_[Index(compilation_.memory.root[Index(slot.gradient)])] = exchange_->send(i) + offset;
    }
  }
  return {};
}

std::uint64_t Program::AddressOf(graph::ValueId id) const {
  return addresses_[Index(compilation_.memory.root[Index(id)])];
}

tenon_tensor Program::MakeView(graph::ValueId id) const {
  if (id == graph::kNone) {
    tenon_tensor absent = TENON_INIT(tenon_tensor);
    absent.flags = TENON_TENSOR_ABSENT;
    return absent;
  }
  tenon_tensor view = ViewOf(graph().value(id).type.dtype, shapes_[Index(id)], compilation_.LayoutOf(id), AddressOf(id),
                             device_.host_accessible());
  const graph::ValueId root = compilation_.memory.root[Index(id)];
  view.device = device_.handle();
  view.space = device_.space();
  view.storage_id = static_cast<std::uint64_t>(root) + 1;
  view.storage_bytes = static_cast<std::uint64_t>(compilation_.memory.bytes[Index(root)]);
  return view;
}

Tensor Program::MakeTensor(graph::ValueId id) const {
  if (id == graph::kNone) return {};
  return Tensor::FromOwner(graph().value(id).type.dtype, shapes_[Index(id)], nullptr,
                           reinterpret_cast<void*>(AddressOf(id)));
}

Status Program::AddNode(graph::NodeId id) {
  const graph::Node& node = graph().node(id);
  const graph::PlannedKernel* planned = compilation_.kernels[Index(id)].get();
  AddAwaits(id);
  Step step;
  step.node = id;
  if (passes::IsAllReduce(node)) {
    AddLaunch(id);
    return {};
  }
  if (passes::IsReorder(node)) {
    step.kind = Step::Kind::kReorder;
    AddPluginStep(id, nullptr, step);
    return {};
  }
  if (planned == nullptr) return {};  // a view
  step.random = IsRandom(node, planned);
  if (planned->is_reference()) {
    step.kind = Step::Kind::kReference;
    AddReferenceStep(id, static_cast<const ReferenceKernel&>(*planned), step);
    return {};
  }
  const auto& kernel = static_cast<const PluginKernel&>(*planned);
  step.kind = kernel.no_op() ? Step::Kind::kNothing : Step::Kind::kPlugin;
  AddPluginStep(id, &kernel, step);
  return {};
}

void Program::AddLaunch(graph::NodeId id) {
  const std::vector<passes::GradientBucket>& buckets = compilation_.memory.buckets;
  Step step;
  step.kind = Step::Kind::kLaunch;
  step.node = id;
  while (buckets[step.bucket].node != id) ++step.bucket;
  for (const passes::GradientBucket::Slot& slot : buckets[step.bucket].slots)
    bucket_of_[Index(slot.result)] = static_cast<int>(step.bucket);
  steps_.push_back(step);
  launched_end_ = steps_.size();
}

// The first node that reads a sum waits for its bucket.
void Program::AddAwaits(graph::NodeId id) {
  for (const graph::ValueId in : graph().node(id).inputs) {
    const int bucket = in == graph::kNone ? -1 : bucket_of_[Index(in)];
    if (bucket < 0) continue;
    Step step;
    step.kind = Step::Kind::kAwait;
    step.node = compilation_.memory.buckets[Index(bucket)].node;
    step.bucket = Index(bucket);
    steps_.push_back(step);
    for (int& of : bucket_of_) {
      if (of == bucket) of = -1;
    }
  }
}

void Program::LinkFeeds() {
  const auto fed_root = [&](graph::ValueId id) -> FedInput* {
    if (id == graph::kNone) return nullptr;
    const graph::ValueId root = compilation_.memory.root[Index(id)];
    for (FedInput& fed : feeds_) {
      if (fed.value == root) return &fed;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (FedInput* fed = fed_root(view_values_[i])) fed->operands.push_back({&views_[i], nullptr});
  }
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::kReference) continue;
    ReferenceStep& reference = references_[step.reference];
    if (reference.fallback) continue;  // has copies of its own, filled before it runs
    const graph::Node& node = graph().node(step.node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (FedInput* fed = fed_root(node.inputs[i])) fed->operands.push_back({nullptr, &reference.inputs[i]});
    }
  }
}

int Program::FindInput(std::string_view name) const {
  const auto found = feed_names_.find(name);
  return found == feed_names_.end() ? -1 : found->second;
}

Status Program::Feed(int index, const void* data, std::int64_t bytes) {
  FedInput& fed = feeds_[Index(index)];
  TENON_INVALID_IF(bytes != fed.bytes, "Input '{}' takes {} bytes ({}); got {}.", graph().value(fed.value).name,
                   fed.bytes, graph().value(fed.value).type.ToString(), bytes);
  if (!device_.host_accessible()) return device_.CopyFromHost(data, fed.staged.address(), bytes);
  if (fed.data == data) return {};
  fed.data = data;
  const auto address = reinterpret_cast<std::uint64_t>(data);
  addresses_[Index(fed.value)] = address;
  for (const Operand& operand : fed.operands) {
    if (operand.view != nullptr) operand.view->address = address;
    if (operand.tensor != nullptr) operand.tensor->PointTo(const_cast<void*>(data));  // references only read inputs
  }
  return {};
}

Status Program::FailedStep(const Step& step, std::int32_t code, const tenon_error& error) const {
  const graph::Node& node = graph().node(step.node);
  const graph::PlannedKernel* kernel = compilation_.kernels[Index(step.node)].get();
  return ToStatus(code, error, "")
      .At(node.place)
      .While(fmt::format("running node '{}' ({}) with kernel {}", node.name, node.FullName(),
                         kernel == nullptr ? "reorder" : kernel->name()));
}

Status Program::RunStep(Step& step) {
  switch (step.kind) {
    case Step::Kind::kPlugin: {
      tenon_error error;
      const std::int32_t code = ExecuteKernel(step.execute, step.kernel, &step.call, &error);
      if (code != TENON_OK) [[unlikely]]
        return FailedStep(step, code, error);
      return {};
    }
    case Step::Kind::kReference: {
      Status status = RunReference(step);
      if (status.ok()) [[likely]]
        return status;
      const graph::Node& node = graph().node(step.node);
      return std::move(status)
          .At(node.place)
          .While(fmt::format("running node '{}' ({}) with its reference", node.name, node.FullName()));
    }
    case Step::Kind::kReorder:
      return device_.Reorder(step.call.inputs[0], step.call.outputs[0]);
    case Step::Kind::kCopy:
      return device_.CopyOnDevice(AddressOf(step.copied), step.target, step.bytes);
    case Step::Kind::kLaunch: {
      const passes::GradientBucket& bucket = compilation_.memory.buckets[step.bucket];
      for (const passes::GradientBucket::Slot& slot : bucket.slots) {
        if (slot.in_place) continue;
        const std::uint64_t target = exchange_->send(step.bucket) + static_cast<std::uint64_t>(slot.offset);
        TENON_TRY(device_.CopyOnDevice(AddressOf(slot.gradient), target, slot.bytes));
        exchange_->CountCopy();
      }
      return exchange_->Launch(step.bucket);
    }
    case Step::Kind::kAwait:
      return exchange_->Await(step.bucket);
    case Step::Kind::kNothing:
      return {};
  }
  return {};
}

void Program::SetRandom(Step& step, const RunOptions& options) const {
  if (!step.random) return;
  step.call.rng_key = RandomKey(options.seed, graph().node(step.node).name);
  step.call.rng_offset = options.position << 32;
}

// References know one process; what has to be added up over the others is added up here.
Status Program::CallReference(const ReferenceStep& reference, const ReferenceArgs& args) {
  TENON_TRY(reference.def->reference()(args));
  if (exchange_ == nullptr || !SumsOverRanks(*reference.def)) return {};
  return exchange_->SumNow(args.outputs[0].values<float>(), args.attrs.Int("of_gradient", 0) != 0);
}

Status Program::RunReference(Step& step) {
  ReferenceStep& reference = references_[step.reference];
  reference.random = {step.call.rng_key, step.call.rng_offset};
  const graph::Node& node = graph().node(step.node);
  const ReferenceArgs args{node.attrs, reference.inputs, reference.outputs, reference.random};
  if (!reference.fallback) return CallReference(reference, args);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Tensor& copy = reference.inputs[i];
    if (copy.defined()) TENON_TRY(device_.CopyToHost(AddressOf(node.inputs[i]), copy.raw(), copy.bytes()));
  }
  TENON_TRY(CallReference(reference, args));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Tensor& made = reference.outputs[i];
    if (made.defined()) TENON_TRY(device_.CopyFromHost(made.raw(), AddressOf(node.outputs[i]), made.bytes()));
  }
  return {};
}

Status Program::RunSteps(std::size_t begin, std::size_t end, const RunOptions& options) {
  if (device_.activity() != nullptr) return RunProfiled(begin, end, options);
  for (std::size_t i = begin; i < end; ++i) {
    Step& step = steps_[i];
    SetRandom(step, options);
    TENON_TRY(RunStep(step));
    if (options.observer != nullptr) TENON_TRY(Observe(step, *options.observer));
  }
  return device_.Synchronize();
}

Status Program::KeepForwardStates() {
  for (Step& step : steps_) {
    if (step.kind == Step::Kind::kCopy && step.forward) TENON_TRY(RunStep(step));
  }
  return device_.Synchronize();
}

Status Program::Run(const RunOptions& options) { return RunSteps(0, steps_.size(), options); }

Status Program::Observe(const Step& step, StepObserver& observer) const {
  if (step.kind == Step::Kind::kCopy || step.kind == Step::Kind::kLaunch) return {};
  const graph::Node& node = graph().node(step.node);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const graph::ValueId id = node.outputs[i];
    if (id == graph::kNone) continue;
    TENON_ASSIGN(const Tensor tensor, device_.Load(graph().value(id).type.dtype, shapes_[Index(id)],
                                                   compilation_.LayoutOf(id), AddressOf(id)));
    TENON_TRY(observer.OnResult(node, static_cast<int>(i), graph().value(id).name, tensor));
  }
  return {};
}

Result<Tensor> Program::Output(std::size_t index) const {
  const graph::ValueId id = graph().outputs[index];
  return device_.Load(graph().value(id).type.dtype, shapes_[Index(id)], compilation_.LayoutOf(id), AddressOf(id));
}

Status Program::ReadOutput(std::size_t index, void* target, std::int64_t bytes) const {
  const graph::ValueId id = graph().outputs[index];
  TENON_INVALID_IF(bytes != compilation_.memory.bytes[Index(id)], "Output '{}' has {} bytes; the target has {}.",
                   graph().value(id).name, compilation_.memory.bytes[Index(id)], bytes);
  return device_.CopyToHost(AddressOf(id), target, bytes);
}

Result<double> Program::Loss() const {
  const graph::ValueId id = compilation_.loss;
  const DType dtype = graph().value(id).type.dtype;
  if (dtype == DType::kF32) {
    float loss = 0;
    TENON_TRY(device_.CopyToHost(AddressOf(id), &loss, sizeof loss));
    return static_cast<double>(loss);
  }
  double loss = 0;
  TENON_INVALID_IF(dtype != DType::kF64, "The loss has dtype ({}); supported are float32 and float64.", NameOf(dtype));
  TENON_TRY(device_.CopyToHost(AddressOf(id), &loss, sizeof loss));
  return loss;
}

std::vector<Program::KernelUse> Program::KernelsUsed() const {
  std::vector<KernelUse> used;
  for (const graph::NodeId id : graph().LiveNodes()) {
    const graph::PlannedKernel* kernel = compilation_.kernels[Index(id)].get();
    if (kernel == nullptr) continue;
    const bool high = !kernel->is_reference() && static_cast<const PluginKernel*>(kernel)->math_high();
    used.push_back({graph().node(id).FullName(), kernel->is_reference(), high, kernel->name(), graph().node(id).name});
  }
  return used;
}

std::vector<Fallback> Program::Fallbacks() const {
  std::vector<Fallback> fallbacks;
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::kReference || !references_[step.reference].fallback) continue;
    const graph::Node& node = graph().node(step.node);
    const auto& kernel = static_cast<const ReferenceKernel&>(*compilation_.kernels[Index(step.node)]);
    fallbacks.push_back({node.name, node.FullName(), kernel.fallback_reason()});
  }
  return fallbacks;
}

void Program::AddPluginStep(graph::NodeId id, const PluginKernel* kernel, Step step) {
  const graph::Node& node = graph().node(id);
  step.first_view = views_.size();
  step.inputs = node.inputs.size();
  step.outputs = node.outputs.size();
  for (const graph::ValueId in : node.inputs) {
    views_.push_back(MakeView(in));
    view_values_.push_back(in);
  }
  for (const graph::ValueId out : node.outputs) {
    views_.push_back(MakeView(out));
    view_values_.push_back(out);
  }
  if (kernel != nullptr) {
    step.execute = kernel->vtable().execute;
    step.kernel = kernel->handle();
  }
  tenon_kernel_call& call = step.call;
  call = TENON_INIT(tenon_kernel_call);
  call.input_count = static_cast<std::uint32_t>(step.inputs);
  call.input_stride = sizeof(tenon_tensor);
  call.output_count = static_cast<std::uint32_t>(step.outputs);
  call.output_stride = sizeof(tenon_tensor);
  const std::int64_t workspace = compilation_.memory.workspace_offset[Index(id)];
  if (workspace >= 0) {
    call.workspace = arena_->address() + static_cast<std::uint64_t>(workspace);
    call.workspace_bytes = static_cast<std::uint64_t>(compilation_.kernels[Index(id)]->workspace_bytes());
  }
  if (kernel != nullptr) {
    SetStream(*kernel, device_, call);
    call.math_flags = kernel->math_flags();
  }
  if (compilation_.training()) call.math_flags |= TENON_MATH_TRAINING;
  call.thread_budget = threads_;
  steps_.push_back(step);
}

void Program::AddReferenceStep(graph::NodeId id, const ReferenceKernel& kernel, Step step) {
  const graph::Node& node = graph().node(id);
  ReferenceStep reference{&kernel.def(), {}, {}, {}, kernel.is_fallback()};
  const auto tensor = [&](graph::ValueId value) {
    if (!kernel.is_fallback()) return MakeTensor(value);
    return value == graph::kNone ? Tensor() : Tensor(graph().value(value).type.dtype, shapes_[Index(value)]);
  };
  for (const graph::ValueId in : node.inputs) reference.inputs.push_back(tensor(in));
  for (const graph::ValueId out : node.outputs) reference.outputs.push_back(tensor(out));
  step.reference = references_.size();
  references_.push_back(std::move(reference));
  step.call = TENON_INIT(tenon_kernel_call);
  steps_.push_back(step);
}

}  // namespace tenon::exec

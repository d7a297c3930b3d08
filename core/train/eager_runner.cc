// mode: pynative. The network's graph as the layers make it, walked node by node: each operator runs when it is reached,
// on a tape; then the gradients, then what is done with them (EagerUpdate).
#include <algorithm>
#include <cmath>
#include <list>
#include <set>

#include "core/debug/non_finite.h"
#include "core/exec/eager.h"
#include "core/exec/random_key.h"
#include "core/train/eager_update.h"
#include "core/train/fallback_report.h"
#include "core/train/loss.h"
#include "core/train/loss_scaler.h"
#include "core/train/non_finite_loss.h"
#include "core/train/parameter_plan.h"
#include "core/train/precision.h"
#include "core/train/step_runner.h"
#include "core/train/trained_graph.h"

namespace tenon {
namespace {

using exec::EagerTensor;
using graph::kNone;
using graph::NodeId;
using graph::ValueId;

constexpr std::size_t kMostWalks = 64;
constexpr const char* kInputName = "input";
constexpr const char* kLabelsName = "labels";

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

class EagerRunner final : public StepRunner {
 public:
  EagerRunner(exec::Runtime& runtime, const Network& network, const StepRunnerOptions& options)
      : network_(network),
        options_(options),
        config_(*options.config),
        device_(runtime.device()),
        variables_(runtime.device()),
        engine_(runtime.target(), EngineOptions(runtime)),
        fallbacks_(options.config->fallback) {
    engine_.SetExchange(options.exchange);
  }

  Result<double> Train(const Batch& batch, const StepPart& part) override;
  Status TrainWithout(const StepPart& part) override;
  const exec::StepTotals& totals() const override { return totals_; }
  bool overflowed() const override { return overflowed_; }
  std::optional<double> GradientNorm() const override { return gradient_norm_; }
  Result<Evaluation> Evaluate(const Batch& batch) override;
  Status Prepare(const Batch& like) override;
  exec::Variables& variables() override { return variables_; }
  std::vector<std::string> ParameterNames() const override { return parameter_names_; }
  std::vector<std::string> OptimizerStateNames() const override { return state_names_; }
  std::optional<exec::StepPlan> Plan() const override { return std::nullopt; }
  void AddTo(RunSummary& summary) const override;

 private:
  // A network for one shape of a batch.
  struct Walk {
    bool training = false;
    BatchShape shape;
    graph::Graph graph;
    ValueId loss = kNone, output = kNone;
    std::vector<EagerTensor> values;               // by value; constants, parameters and states stay
    std::vector<exec::EagerOp*> ops;               // by node
    std::vector<exec::EagerSite> sites;            // by node
    std::vector<std::uint64_t> keys;               // by node, of random operators
    std::vector<std::vector<ValueId>> dead_after;  // by node: results that nobody reads later
    std::vector<bool> dropped;                     // by value: computed again for the gradients
    std::vector<EagerTensor> trained;              // leaves that require gradients and get one
  };
  // The updates that a run needs: after each batch, or into sums and with them; and where this rank has no gradients.
  struct Updates {
    std::optional<EagerUpdate> step, accumulate, apply, nothing;
  };

  static exec::EagerOptions EngineOptions(const exec::Runtime& runtime) {
    exec::EagerOptions options;
    options.threads = static_cast<std::uint32_t>(runtime.threads());
    options.ops = &runtime.ops();
    return options;
  }

  Result<Walk*> Get(bool training, const BatchShape& shape);
  Status Build(Walk& walk);
  Status ConvertPrecision(Walk& walk);
  Status PlaceValues(Walk& walk, const ParameterPlan& plan);
  Status PrepareNodes(Walk& walk);
  void FindDropped(Walk& walk);
  Status PrepareUpdates(const passes::Compilation& gradients, const ParameterPlan& plan);
  void AddLossScale(passes::Compilation& update) const;
  Result<EagerUpdate> MakeUpdate(passes::Compilation state);
  Result<EagerTensor> VariableTensor(const graph::ValueInfo& value, bool trained);
  void NoteName(const std::string& name);

  Result<EagerTensor> ToDevice(const Tensor& tensor);
  Status Forward(Walk& walk, const Batch& batch, std::int64_t step, exec::StepObserver* observer);
  Status Observe(const Walk& walk, const graph::Node& node, exec::StepObserver& observer);
  Status Update(Walk& walk, const StepPart& part, double loss);
  Status Apply(EagerUpdate& update, const EagerUpdate::Feeds& feeds, const StepPart& part);
  void BeginStep(const StepPart& part);
  Status ClearSums();
  Result<std::vector<EagerTensor>> Gradients(Walk& walk, const StepPart& part);
  Status StoreStates(Walk& walk);
  Result<double> LossOf(const Walk& walk);
  Status ExplainLoss(Walk& walk, const Batch& batch, double loss, const StepPart& part);
  void DropOrReset(Walk& walk, ValueId id);
  void Forget(Walk& walk);

  const Network& network_;
  const StepRunnerOptions options_;
  const RunConfig& config_;
  Device& device_;
  exec::Variables variables_;
  exec::EagerEngine engine_;
  FallbackList fallbacks_;
  std::list<Walk> walks_;  // most recently used first
  Updates updates_;
  std::optional<double> gradient_norm_;
  bool overflowed_ = false;  // in a batch of the current step
  double loss_ = 0;          // of the current step, as far as this rank has seen it
  exec::StepTotals totals_;
  std::vector<TrainedParameter> summed_;  // those that get a gradient
  exec::EagerOp* scale_loss_ = nullptr;   // Mul, where the loss is scaled
  std::int64_t recomputed_ = 0;
  std::vector<std::string> parameter_names_, state_names_;
  std::set<std::string> of_network_;  // its parameters and states
  Tensor output_;
  std::vector<EagerTensor> operands_, results_;
};

Result<EagerRunner::Walk*> EagerRunner::Get(bool training, const BatchShape& shape) {
  for (auto at = walks_.begin(); at != walks_.end(); ++at) {
    if (at->training != training || !(at->shape == shape)) continue;
    walks_.splice(walks_.begin(), walks_, at);
    return &walks_.front();
  }
  walks_.emplace_front();
  walks_.front().training = training;
  walks_.front().shape = shape;
  const Status built = Build(walks_.front());
  if (!built.ok()) {
    walks_.pop_front();
    return built;
  }
  if (walks_.size() > kMostWalks) walks_.pop_back();
  return &walks_.front();
}

Status EagerRunner::Build(Walk& walk) {
  const ActivityScope scope(device_.activity(), ActivityKind::kCompile);
  graph::Graph& graph = walk.graph;
  graph = network_.NewGraph();
  graph.name = walk.training ? "train_step" : "evaluate";
  const SampleLayout& layout = options_.layout;
  const ValueId input = graph.AddInput(kInputName, {layout.dtype, SymShape(walk.shape.samples)});
  const ValueId labels = graph.AddInput(kLabelsName, {layout.label_dtype, SymShape(walk.shape.labels)});
  TENON_ASSIGN(Network::Build build, network_.AddTo(graph, input, walk.training));
  TENON_ASSIGN(walk.loss, AddLoss(config_.loss, graph, build.output, labels));
  walk.output = build.output;
  TENON_ASSIGN(const ParameterPlan plan, PlanParameters(config_, graph, build.parameters));
  const std::vector<ValueId> trained = plan.Trained(graph, build.parameters);
  for (const auto& initial : build.initial) of_network_.insert(initial.first);
  TENON_TRY(KeepFirstValues(options_, build, graph, trained, variables_));
  if (!walk.training) UseAverages(graph, build.parameters, variables_);
  TENON_TRY(graph.InferAll());
  TENON_TRY(ConvertPrecision(walk));
  TENON_TRY(PlaceValues(walk, plan));
  TENON_TRY(PrepareNodes(walk));
  if (!walk.training) return {};
  if (!config_.train.recompute.empty()) FindDropped(walk);
  passes::Compilation gradients;
  gradients.graph = graph;
  gradients.loss = walk.loss;
  gradients.trained = trained;
  TENON_TRY(passes::Autodiff(gradients));
  for (std::size_t i = 0; i < gradients.trained.size(); ++i) {
    if (gradients.gradients[i] != kNone) walk.trained.push_back(walk.values[Index(gradients.trained[i])]);
  }
  return PrepareUpdates(gradients, plan);
}

// The same conversions as the compiled engine makes.
Status EagerRunner::ConvertPrecision(Walk& walk) {
  passes::Compilation state;
  state.graph = std::move(walk.graph);
  state.graph.outputs = {walk.loss, walk.output};
  state.precision = PrecisionOf(config_.amp);
  TENON_TRY(passes::MixedPrecision(state));
  walk.graph = std::move(state.graph);
  walk.loss = walk.graph.outputs[0];
  walk.output = walk.graph.outputs[1];
  return {};
}

// The variable's memory as a tensor. Optimisers write into it between two steps, when no tape refers to it.
Result<EagerTensor> EagerRunner::VariableTensor(const graph::ValueInfo& value, bool trained) {
  TENON_ASSIGN(const exec::Variables::Variable* variable,
               variables_.Ensure(value.name, value.type, graph::kStrided, trained));
  return engine_.Leaf(engine_.Wrap(value.type, variable->buffer.address()), trained);
}

void EagerRunner::NoteName(const std::string& name) {
  std::vector<std::string>& names = of_network_.count(name) > 0 ? parameter_names_ : state_names_;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

Status EagerRunner::PlaceValues(Walk& walk, const ParameterPlan& plan) {
  walk.values.resize(Index(walk.graph.num_values()));
  for (ValueId id = 0; id < walk.graph.num_values(); ++id) {
    const graph::ValueInfo& value = walk.graph.value(id);
    const bool parameter = value.kind == graph::ValueKind::kParameter;
    if (value.kind == graph::ValueKind::kConstant) {
      TENON_ASSIGN(walk.values[Index(id)], engine_.FromHost(value.constant));
    }
    if (!parameter && value.kind != graph::ValueKind::kState) continue;
    const bool trained = parameter && walk.training && plan.frozen.count(value.name) == 0;
    TENON_ASSIGN(walk.values[Index(id)], VariableTensor(value, trained));
    NoteName(value.name);
  }
  return {};
}

Status EagerRunner::PrepareNodes(Walk& walk) {
  const graph::Graph& graph = walk.graph;
  std::vector<NodeId> last_reader(Index(graph.num_values()), kNone);
  walk.dead_after.resize(Index(graph.num_nodes()));
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const graph::Node& node = graph.node(id);
    auto op = engine_.Op(node.domain, node.type, node.attrs, node.version);
    if (!op.ok())
      return std::move(op)
          .status()
          .At(node.place)
          .While(fmt::format("preparing node '{}' ({})", node.name, node.FullName()));
    walk.ops.push_back(*op);
    walk.sites.push_back({node.name, node.place});
    walk.keys.push_back(node.def != nullptr && node.def->random()
                            ? exec::RandomKey(static_cast<std::uint64_t>(config_.seed), node.name)
                            : 0);
    for (const ValueId in : node.inputs) {
      if (in != kNone) last_reader[Index(in)] = id;
    }
    for (const ValueId out : node.outputs) {
      if (out != kNone) last_reader[Index(out)] = id;
    }
  }
  std::set<ValueId> kept = {walk.loss, walk.output};
  for (const graph::Update& update : graph.updates) kept.insert(update.value);
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    if (graph.value(id).kind != graph::ValueKind::kResult || kept.count(id) > 0) continue;
    if (last_reader[Index(id)] != kNone) walk.dead_after[Index(last_reader[Index(id)])].push_back(id);
  }
  return {};
}

void EagerRunner::FindDropped(Walk& walk) {
  walk.dropped = passes::ValuesToRecompute(walk.graph, walk.loss, config_.train.recompute);
  walk.dropped[Index(walk.output)] = false;
  std::set<NodeId> nodes;
  for (ValueId id = 0; id < walk.graph.num_values(); ++id) {
    if (walk.dropped[Index(id)]) nodes.insert(walk.graph.value(id).producer);
  }
  recomputed_ = static_cast<std::int64_t>(nodes.size());
}

void EagerRunner::AddLossScale(passes::Compilation& update) const {
  if (ScalesLoss(config_.amp))
    update.loss_scale = update.graph.AddInput(std::string(passes::kLossScaleInput), {DType::kF32, SymShape{}});
}

// Made once: the parameters that get a gradient are the same for every shape of a batch.
Status EagerRunner::PrepareUpdates(const passes::Compilation& gradients, const ParameterPlan& plan) {
  if (updates_.step) return {};
  const std::vector<TrainedParameter> trained = summed_ = TrainedOf(gradients);
  const bool ranks = options_.exchange != nullptr;
  passes::Compilation step;
  AddGradientInputs(step, trained);
  AddLossScale(step);
  if (ranks) step.buckets = BucketRuleOf(config_.parallel);
  step.clip = ClipRuleOf(config_.train);
  step.update = UpdateRuleOf(config_, plan);
  TENON_ASSIGN(updates_.step, MakeUpdate(std::move(step)));
  if (ranks && config_.train.accumulate == 1) {
    passes::Compilation nothing;
    AddSummed(nothing, trained);
    AddLossScale(nothing);
    nothing.buckets = BucketRuleOf(config_.parallel);
    nothing.clip = ClipRuleOf(config_.train);
    nothing.update = UpdateRuleOf(config_, plan);
    TENON_ASSIGN(updates_.nothing, MakeUpdate(std::move(nothing)));
  }
  if (config_.train.accumulate == 1) return {};
  passes::Compilation accumulate, apply;
  AddGradientInputs(accumulate, trained);
  AddLossScale(accumulate);
  accumulate.accumulate = true;
  TENON_ASSIGN(updates_.accumulate, MakeUpdate(std::move(accumulate)));
  AddSummed(apply, trained);
  if (ranks) apply.buckets = BucketRuleOf(config_.parallel);
  apply.clip = ClipRuleOf(config_.train);
  apply.update = UpdateRuleOf(config_, plan);
  TENON_ASSIGN(updates_.apply, MakeUpdate(std::move(apply)));
  return {};
}

// Sums of gradients live within one step and are nobody's to save.
Result<EagerUpdate> EagerRunner::MakeUpdate(passes::Compilation state) {
  const auto variable = [this](const graph::ValueInfo& value) {
    if (!value.name.starts_with(passes::kSumPrefix)) NoteName(value.name);
    return VariableTensor(value, value.kind == graph::ValueKind::kParameter);
  };
  return EagerUpdate::Make(std::move(state), engine_, variable, options_.exchange, device_);
}

// Without a copy where the device reads host memory; the batch outlives the step.
Result<EagerTensor> EagerRunner::ToDevice(const Tensor& tensor) {
  if (!device_.host_accessible()) return engine_.FromHost(tensor);
  return engine_.Wrap({tensor.dtype(), SymShape(tensor.shape())}, reinterpret_cast<std::uint64_t>(tensor.raw()));
}

Status EagerRunner::Forward(Walk& walk, const Batch& batch, std::int64_t step, exec::StepObserver* observer) {
  const graph::Graph& graph = walk.graph;
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    const graph::ValueInfo& value = graph.value(id);
    if (value.kind != graph::ValueKind::kInput) continue;
    TENON_ASSIGN(walk.values[Index(id)], ToDevice(value.name == kLabelsName ? batch.labels : batch.samples));
  }
  engine_.set_recording(walk.training && observer == nullptr);
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const graph::Node& node = graph.node(id);
    operands_.clear();
    for (const ValueId in : node.inputs) operands_.push_back(in == kNone ? EagerTensor() : walk.values[Index(in)]);
    results_.assign(node.outputs.size(), EagerTensor());
    exec::EagerCall call;
    call.site = &walk.sites[Index(id)];
    call.phase = walk.training ? ActivityKind::kForward : ActivityKind::kEvaluate;
    call.random = {walk.keys[Index(id)], static_cast<std::uint64_t>(step) << 32};
    TENON_TRY(engine_.Run(*walk.ops[Index(id)], operands_, results_, call));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNone) walk.values[Index(node.outputs[i])] = std::move(results_[i]);
    }
    if (observer != nullptr) TENON_TRY(Observe(walk, node, *observer));
    for (const ValueId dead : walk.dead_after[Index(id)]) DropOrReset(walk, dead);
  }
  operands_.clear();
  return {};
}

Status EagerRunner::Observe(const Walk& walk, const graph::Node& node, exec::StepObserver& observer) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == kNone) continue;
    TENON_ASSIGN(const Tensor tensor, engine_.ToHost(walk.values[Index(id)]));
    TENON_TRY(observer.OnResult(node, static_cast<int>(i), walk.graph.value(id).name, tensor));
  }
  return {};
}

Result<double> EagerRunner::LossOf(const Walk& walk) {
  const EagerTensor& loss = walk.values[Index(walk.loss)];
  TENON_ASSIGN(const Tensor host, engine_.ToHost(loss));
  return Cast(host, DType::kF64).data<double>()[0];
}

// A result that no later node reads: what gradients need of it stays with the tape, or is computed again.
void EagerRunner::DropOrReset(Walk& walk, ValueId id) {
  EagerTensor& value = walk.values[Index(id)];
  if (value && Index(id) < walk.dropped.size() && walk.dropped[Index(id)]) engine_.Drop(value);
  value.reset();
}

// Results of the step that hold memory; parameters, states and constants stay.
void EagerRunner::Forget(Walk& walk) {
  for (ValueId id = 0; id < walk.graph.num_values(); ++id) {
    const graph::ValueKind kind = walk.graph.value(id).kind;
    if (kind == graph::ValueKind::kResult || kind == graph::ValueKind::kInput) walk.values[Index(id)].reset();
  }
}

Result<double> EagerRunner::Train(const Batch& batch, const StepPart& part) {
  TENON_ASSIGN(Walk * walk, Get(true, BatchShape(batch)));
  TENON_TRY(Forward(*walk, batch, part.position, nullptr));
  TENON_ASSIGN(const double loss, LossOf(*walk));
  BeginStep(part);
  if (!std::isfinite(loss) && !ScalesLoss(config_.amp)) return ExplainLoss(*walk, batch, loss, part);
  TENON_TRY(Update(*walk, part, loss));
  TENON_TRY(StoreStates(*walk));
  TENON_TRY(device_.Synchronize());
  for (const exec::Fallback& fallback : engine_.TakeFallbacks()) fallbacks_.Note(fallback);
  Forget(*walk);
  return loss;
}

// Of the loss, times the scale and, where its gradients are summed over the ranks, the weight of the batch.
Result<std::vector<EagerTensor>> EagerRunner::Gradients(Walk& walk, const StepPart& part) {
  const EagerTensor& loss = walk.values[Index(walk.loss)];
  const bool weighted = options_.exchange != nullptr && config_.train.accumulate == 1;
  const double scale = (ScalesLoss(config_.amp) ? part.loss_scale : 1) * (weighted ? part.weight : 1);
  if (!ScalesLoss(config_.amp) && scale == 1) return engine_.Gradients(loss, walk.trained);
  if (scale_loss_ == nullptr) {
    TENON_ASSIGN(scale_loss_, engine_.Op("", "Mul", {}, 0));
  }
  EagerTensor operands[2] = {loss, {}}, scaled[1];
  TENON_ASSIGN(operands[1], engine_.FromHost(Tensor::Scalar(static_cast<float>(scale))));
  exec::EagerCall call;
  call.phase = ActivityKind::kBackward;
  TENON_TRY(engine_.Run(*scale_loss_, operands, scaled, call));
  return engine_.Gradients(scaled[0], walk.trained);
}

void EagerRunner::BeginStep(const StepPart& part) {
  if (!part.first) return;
  overflowed_ = false;
  gradient_norm_.reset();
  loss_ = 0;
}

Status EagerRunner::Update(Walk& walk, const StepPart& part, double loss) {
  const bool ranks = options_.exchange != nullptr;
  const bool whole = part.first && part.last && (!ranks || config_.train.accumulate == 1);
  loss_ += loss * part.weight;
  std::vector<EagerTensor> gradients;
  const bool finite = std::isfinite(loss);
  if (finite) {
    TENON_ASSIGN(gradients, Gradients(walk, part));
  } else {
    overflowed_ = true;
  }
  const EagerUpdate::Feeds feeds{part.learning_rate, part.step + 1,   part.weight,
                                 part.first,         part.loss_scale, gradients};
  if (!whole && finite) {
    TENON_TRY(updates_.accumulate->Run(feeds));
    overflowed_ = overflowed_ || updates_.accumulate->overflowed();
  }
  if (!part.last || (overflowed_ && !ranks)) return {};
  if (whole && !finite) {
    TENON_TRY(ClearSums());
    return Apply(*updates_.nothing, feeds, part);
  }
  return Apply(whole ? *updates_.step : *updates_.apply, feeds, part);
}

// No rank updates where one has seen a loss or sums that are not finite.
Status EagerRunner::Apply(EagerUpdate& update, const EagerUpdate::Feeds& feeds, const StepPart& part) {
  std::function<Result<bool>()> go_on;
  if (options_.exchange != nullptr) {
    TENON_TRY(
        options_.exchange->Begin({loss_, overflowed_ ? 1.0 : 0.0, part.stop ? 1.0 : 0.0, part.counted}, part.expected));
    go_on = [this]() -> Result<bool> {
      TENON_ASSIGN(totals_, options_.exchange->Totals());
      return totals_.overflow == 0 && std::isfinite(totals_.loss) && totals_.counted != 0;
    };
  }
  TENON_TRY(update.Run(feeds, go_on));
  overflowed_ = update.overflowed();
  gradient_norm_ = update.gradient_norm();
  return {};
}

Status EagerRunner::TrainWithout(const StepPart& part) {
  BeginStep(part);
  TENON_TRY(ClearSums());
  const EagerUpdate::Feeds feeds{part.learning_rate, part.step + 1, part.weight, part.first, part.loss_scale, {}};
  TENON_TRY(Apply(config_.train.accumulate == 1 ? *updates_.nothing : *updates_.apply, feeds, part));
  return device_.Synchronize();
}

Status EagerRunner::ClearSums() {
  for (const TrainedParameter& one : summed_) {
    const std::string name = std::string(passes::kSumPrefix) + one.name;
    TENON_TRY(variables_.Set(name, Tensor(one.type.dtype, one.type.shape.Concrete())));
  }
  return {};
}

// New running statistics and the like go into their variables.
Status EagerRunner::StoreStates(Walk& walk) {
  for (const graph::Update& update : walk.graph.updates) {
    const EagerTensor &state = walk.values[Index(update.state)], &value = walk.values[Index(update.value)];
    TENON_TRY(device_.CopyOnDevice(value.address(), state.address(), value.bytes()));
  }
  return {};
}

// Looks for the cause: an input that is not finite, or the first operator whose result is not.
Status EagerRunner::ExplainLoss(Walk& walk, const Batch& batch, double loss, const StepPart& part) {
  const std::string doing = DescribeNonFiniteStep(part.step, loss);
  TENON_TRY_WHILE(FindNonFiniteInput(batch, parameter_names_, variables_), "{}", doing);
  NonFiniteFinder finder;
  Status found = Forward(walk, batch, part.position, &finder);
  Forget(walk);
  if (!found.ok()) return std::move(found).While(doing);
  return Error(Code::kAborted, "The loss is {}, but a second run of the same step is finite.", loss).While(doing);
}

Result<StepRunner::Evaluation> EagerRunner::Evaluate(const Batch& batch) {
  TENON_ASSIGN(Walk * walk, Get(false, BatchShape(batch)));
  TENON_TRY(Forward(*walk, batch, 0, nullptr));
  TENON_ASSIGN(const double loss, LossOf(*walk));
  TENON_ASSIGN(output_, engine_.ToHost(walk->values[Index(walk->output)]));
  for (const exec::Fallback& fallback : engine_.TakeFallbacks()) fallbacks_.Note(fallback);
  Forget(*walk);
  return Evaluation{loss, &output_};
}

Status EagerRunner::Prepare(const Batch& like) {
  TENON_TRY(Get(true, BatchShape(like)));
  return {};
}

void EagerRunner::AddTo(RunSummary& summary) const {
  for (const auto& entry : engine_.kernels())
    summary.kernels[entry.first] = {entry.second.fast, entry.second.reference, entry.second.split};
  fallbacks_.AddTo(summary);
  const exec::EagerEngine::PlanCounts& counts = engine_.plan_counts();
  summary.recomputed_nodes = recomputed_;
  summary.plan_cache = {counts.hits, counts.misses, counts.evictions};
}

}  // namespace

Result<std::unique_ptr<StepRunner>> MakeEagerRunner(exec::Runtime& runtime, const Network& network,
                                                    const StepRunnerOptions& options) {
  return std::unique_ptr<StepRunner>(new EagerRunner(runtime, network, options));
}

}  // namespace tenon

#include "core/train/eager_runner.h"

#include <cmath>
#include <set>

#include "core/base/lru_cache.h"
#include "core/exec/eager.h"
#include "core/exec/random_key.h"
#include "core/train/eager_update.h"
#include "core/train/fallback_report.h"
#include "core/train/loss_scaler.h"
#include "core/train/non_finite_loss.h"
#include "core/train/step_outcome.h"
#include "core/train/trained_network.h"

namespace tenon {
namespace {

using exec::EagerTensor;
using graph::kNone;
using graph::NodeId;
using graph::ValueId;

constexpr std::size_t kMostWalks = 64;

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

// The network's graph as the layers make it, walked node by node: each operator runs when it is reached, on a tape; then the
// gradients, then what is done with them (EagerUpdate).
class EagerRunner final : public StepRunner {
 public:
  EagerRunner(exec::Runtime& runtime, const Network& network, const StepRunnerOptions& options)
      : options_(options),
        config_(*options.config),
        device_(runtime.device()),
        network_(network, options, device_),
        outcome_(options.exchange),
        engine_(runtime.target(), EngineOptions(runtime)),
        fallbacks_(options.config->fallback) {
    engine_.SetExchange(options.exchange);
  }

  Result<double> Train(const Batch& batch, const StepPart& part) override;
  Status TrainWithout(const StepPart& part) override;
  const exec::StepTotals& totals() const override { return outcome_.totals(); }
  bool overflowed() const override { return outcome_.overflowed(); }
  std::optional<double> GradientNorm() const override { return outcome_.gradient_norm(); }
  Result<Evaluation> Evaluate(const Batch& batch) override;
  Status Prepare(const Batch& like) override;
  exec::Variables& variables() override { return network_.variables(); }
  std::vector<std::string> ParameterNames() const override { return network_.parameter_names(); }
  std::vector<std::string> OptimizerStateNames() const override { return network_.state_names(); }
  std::optional<exec::StepPlan> Plan() const override { return std::nullopt; }
  void AddTo(RunSummary& summary) const override;

 private:
  struct Key {
    bool training;
    BatchShape shape;
    bool operator==(const Key& other) const { return training == other.training && shape == other.shape; }
  };
  // A network for one shape of a batch.
  struct Walk {
    bool training = false;
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

  Result<Walk*> Get(const Key& key);
  Result<Walk> Build(const Key& key);
  Status ConvertPrecision(Walk& walk, const passes::Precision& precision);
  Status PlaceValues(Walk& walk);
  Status PrepareNodes(Walk& walk);
  void FindDropped(Walk& walk);
  Status PrepareUpdates(const passes::Compilation& gradients);
  Result<EagerUpdate> MakeUpdate(passes::Compilation state);
  Result<EagerTensor> VariableTensor(const graph::ValueInfo& value, bool trained);

  Result<EagerTensor> ToDevice(const Tensor& tensor);
  Status Forward(Walk& walk, const Batch& batch, std::int64_t step, exec::StepObserver* observer);
  Status Observe(const Walk& walk, const graph::Node& node, exec::StepObserver& observer);
  Status Update(Walk& walk, const StepPart& part, double loss);
  Status Apply(EagerUpdate& update, const EagerUpdate::Feeds& feeds);
  Result<std::vector<EagerTensor>> Gradients(Walk& walk, const StepPart& part, const exec::GradientOptions& options);
  Status StoreStates(Walk& walk);
  Result<double> LossOf(const Walk& walk);
  Status ExplainLoss(Walk& walk, const Batch& batch, const StepPart& part, double loss);
  void DropOrReset(Walk& walk, ValueId id);
  void Forget(Walk& walk);

  const StepRunnerOptions options_;
  const RunConfig& config_;
  Device& device_;
  TrainedNetwork network_;
  StepOutcome outcome_;
  exec::EagerEngine engine_;
  FallbackList fallbacks_;
  LruCache<Key, Walk> walks_{kMostWalks};
  Updates updates_;
  exec::EagerOp* scale_loss_ = nullptr;  // Mul, where the loss is scaled
  std::int64_t recomputed_ = 0;
  Tensor output_;
  std::vector<EagerTensor> operands_, results_;
};

Result<EagerRunner::Walk*> EagerRunner::Get(const Key& key) {
  if (Walk* walk = walks_.Find(key)) return walk;
  TENON_ASSIGN(Walk walk, Build(key));
  return walks_.Add(key, std::move(walk));
}

Result<EagerRunner::Walk> EagerRunner::Build(const Key& key) {
  const ActivityScope scope(device_.activity(), ActivityKind::kCompile);
  Walk walk;
  walk.training = key.training;
  graph::Graph& graph = walk.graph;
  graph = network_.NewGraph();
  graph.name = walk.training ? "train_step" : "evaluate";
  TENON_ASSIGN(const TrainedNetwork::Forward forward, network_.AddForward(graph, key.shape, walk.training));
  walk.loss = forward.loss;
  walk.output = forward.output;
  TENON_TRY(graph.InferAll());
  TENON_TRY(ConvertPrecision(walk, forward.precision));
  TENON_TRY(PlaceValues(walk));
  TENON_TRY(PrepareNodes(walk));
  if (!walk.training) return walk;
  if (!config_.train.recompute.empty()) FindDropped(walk);
  passes::Compilation gradients;
  gradients.graph = graph;
  gradients.loss = walk.loss;
  gradients.trained = forward.trained;
  TENON_TRY(passes::Autodiff(gradients));
  for (std::size_t i = 0; i < gradients.trained.size(); ++i) {
    if (gradients.gradients[i] != kNone) walk.trained.push_back(walk.values[Index(gradients.trained[i])]);
  }
  TENON_TRY(PrepareUpdates(gradients));
  return walk;
}

// The same conversions as the compiled engine makes.
Status EagerRunner::ConvertPrecision(Walk& walk, const passes::Precision& precision) {
  passes::Compilation state;
  state.graph = std::move(walk.graph);
  state.graph.outputs = {walk.loss, walk.output};
  state.precision = precision;
  TENON_TRY(passes::MixedPrecision(state));
  walk.graph = std::move(state.graph);
  walk.loss = walk.graph.outputs[0];
  walk.output = walk.graph.outputs[1];
  return {};
}

// The variable's memory as a tensor. Optimisers write into it between two steps, when no tape refers to it.
Result<EagerTensor> EagerRunner::VariableTensor(const graph::ValueInfo& value, bool trained) {
  TENON_ASSIGN(const exec::Variables::Variable* variable,
               network_.variables().Ensure(value.name, value.type, graph::kStrided, trained));
  return engine_.Leaf(engine_.Wrap(value.type, variable->buffer.address()), trained);
}

Status EagerRunner::PlaceValues(Walk& walk) {
  walk.values.resize(Index(walk.graph.num_values()));
  for (ValueId id = 0; id < walk.graph.num_values(); ++id) {
    const graph::ValueInfo& value = walk.graph.value(id);
    const bool parameter = value.kind == graph::ValueKind::kParameter;
    if (value.kind == graph::ValueKind::kConstant) {
      TENON_ASSIGN(walk.values[Index(id)], engine_.FromHost(value.constant));
    }
    if (!parameter && value.kind != graph::ValueKind::kState) continue;
    const bool trained = parameter && walk.training && network_.plan().frozen.count(value.name) == 0;
    TENON_ASSIGN(walk.values[Index(id)], VariableTensor(value, trained));
    network_.NoteName(value.name);
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

// Made once: the parameters that get a gradient are the same for every shape of a batch.
Status EagerRunner::PrepareUpdates(const passes::Compilation& gradients) {
  if (updates_.step) return {};
  network_.NoteTrained(gradients);
  passes::Compilation step;
  network_.AddGradientInputs(step);
  network_.AddLossScale(step);
  network_.AddUpdate(step);
  TENON_ASSIGN(updates_.step, MakeUpdate(std::move(step)));
  if (config_.train.accumulate == 1) {
    if (options_.exchange == nullptr) return {};
    passes::Compilation nothing;
    network_.AddSums(nothing);
    network_.AddLossScale(nothing);
    network_.AddUpdate(nothing);
    TENON_ASSIGN(updates_.nothing, MakeUpdate(std::move(nothing)));
    return {};
  }
  passes::Compilation accumulate, apply;
  network_.AddGradientInputs(accumulate);
  network_.AddLossScale(accumulate);
  accumulate.accumulate = true;
  TENON_ASSIGN(updates_.accumulate, MakeUpdate(std::move(accumulate)));
  network_.AddSums(apply);
  network_.AddUpdate(apply);
  TENON_ASSIGN(updates_.apply, MakeUpdate(std::move(apply)));
  return {};
}

Result<EagerUpdate> EagerRunner::MakeUpdate(passes::Compilation state) {
  const auto variable = [this](const graph::ValueInfo& value) {
    network_.NoteName(value.name);
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
    TENON_ASSIGN(walk.values[Index(id)], ToDevice(value.name == kLabelsInput ? batch.labels : batch.samples));
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
  TENON_ASSIGN(Walk * walk, Get({true, BatchShape(batch)}));
  TENON_TRY(Forward(*walk, batch, part.position, nullptr));
  TENON_ASSIGN(const double loss, LossOf(*walk));
  outcome_.Begin(part);
  if (!std::isfinite(loss) && !ScalesLoss(config_.amp)) return ExplainLoss(*walk, batch, part, loss);
  TENON_TRY(Update(*walk, part, loss));
  TENON_TRY(StoreStates(*walk));
  TENON_TRY(device_.Synchronize());
  for (const exec::Fallback& fallback : engine_.TakeFallbacks()) fallbacks_.Note(fallback);
  Forget(*walk);
  return loss;
}

// Of the loss, times the scale and, where the loss has it, the weight of the batch.
Result<std::vector<EagerTensor>> EagerRunner::Gradients(Walk& walk, const StepPart& part,
                                                        const exec::GradientOptions& options) {
  const EagerTensor& loss = walk.values[Index(walk.loss)];
  const double scale = (ScalesLoss(config_.amp) ? part.loss_scale : 1) * (network_.WeighsLoss() ? part.weight : 1);
  if (!ScalesLoss(config_.amp) && scale == 1) return engine_.Gradients(loss, walk.trained, options);
  if (scale_loss_ == nullptr) {
    TENON_ASSIGN(scale_loss_, engine_.Op("", "Mul", {}, 0));
  }
  EagerTensor operands[2] = {loss, {}}, scaled[1];
  TENON_ASSIGN(operands[1], engine_.FromHost(Tensor::Scalar(static_cast<float>(scale))));
  exec::EagerCall call;
  call.phase = ActivityKind::kBackward;
  TENON_TRY(engine_.Run(*scale_loss_, operands, scaled, call));
  return engine_.Gradients(scaled[0], walk.trained, options);
}

Status EagerRunner::Update(Walk& walk, const StepPart& part, double loss) {
  const bool whole = network_.IsWholeStep(part), finite = std::isfinite(loss);
  if (!finite) outcome_.NoteOverflow();
  if (whole) TENON_TRY(outcome_.AddLoss(part, loss * part.weight));
  std::vector<EagerTensor> gradients;
  exec::GradientOptions options;
  if (whole && options_.exchange != nullptr)
    options.on_ready = [this](std::size_t i, const EagerTensor& gradient) { return updates_.step->Offer(i, gradient); };
  if (finite) {
    TENON_ASSIGN(gradients, Gradients(walk, part, options));
  }
  const EagerUpdate::Feeds feeds{StepScalars(part, network_.WeighsLoss()), gradients};
  if (!whole && finite) {
    TENON_TRY(updates_.accumulate->Run(feeds));
    if (updates_.accumulate->overflowed()) outcome_.NoteOverflow();
  }
  if (!whole) TENON_TRY(outcome_.AddLoss(part, loss * part.weight));
  if (!part.last || (outcome_.overflowed() && options_.exchange == nullptr)) return {};
  if (!whole) return Apply(*updates_.apply, feeds);
  if (finite) return Apply(*updates_.step, feeds);
  TENON_TRY(network_.ClearSums());
  return Apply(*updates_.nothing, feeds);
}

Status EagerRunner::Apply(EagerUpdate& update, const EagerUpdate::Feeds& feeds) {
  std::function<Result<bool>()> go_on;
  if (options_.exchange != nullptr) {
    go_on = [this]() -> Result<bool> {
      TENON_TRY(outcome_.ReadTotals());
      return !outcome_.overflowed();
    };
  }
  TENON_TRY(update.Run(feeds, go_on));
  if (update.overflowed()) {
    outcome_.NoteOverflow();
  } else {
    outcome_.NoteGradientNorm(update.gradient_norm());
  }
  return {};
}

Status EagerRunner::TrainWithout(const StepPart& part) {
  outcome_.Begin(part);
  TENON_TRY(network_.ClearSums());
  TENON_TRY(outcome_.AddLoss(part, 0));
  TENON_TRY(Apply(config_.train.accumulate == 1 ? *updates_.nothing : *updates_.apply,
                  {StepScalars(part, network_.WeighsLoss())}));
  return device_.Synchronize();
}

// New running statistics and the like go into their variables.
Status EagerRunner::StoreStates(Walk& walk) {
  for (const graph::Update& update : walk.graph.updates) {
    const EagerTensor &state = walk.values[Index(update.state)], &value = walk.values[Index(update.value)];
    TENON_TRY(device_.CopyOnDevice(value.address(), state.address(), value.bytes()));
  }
  return {};
}

Status EagerRunner::ExplainLoss(Walk& walk, const Batch& batch, const StepPart& part, double loss) {
  return ExplainNonFiniteLoss(part, loss, batch, network_, [&](exec::StepObserver& observer) {
    Status found = Forward(walk, batch, part.position, &observer);
    Forget(walk);
    return found;
  });
}

Result<StepRunner::Evaluation> EagerRunner::Evaluate(const Batch& batch) {
  TENON_ASSIGN(Walk * walk, Get({false, BatchShape(batch)}));
  TENON_TRY(Forward(*walk, batch, 0, nullptr));
  TENON_ASSIGN(const double loss, LossOf(*walk));
  TENON_ASSIGN(output_, engine_.ToHost(walk->values[Index(walk->output)]));
  for (const exec::Fallback& fallback : engine_.TakeFallbacks()) fallbacks_.Note(fallback);
  Forget(*walk);
  return Evaluation{loss, &output_};
}

Status EagerRunner::Prepare(const Batch& like) {
  TENON_TRY(Get({true, BatchShape(like)}));
  return {};
}

void EagerRunner::AddTo(RunSummary& summary) const {
  for (const auto& entry : engine_.kernels())
    summary.kernels[entry.first] = {entry.second.fast, entry.second.reference, entry.second.high};
  fallbacks_.AddTo(summary);
  const exec::EagerEngine::PlanCounts& counts = engine_.plan_counts();
  summary.recomputed_nodes = recomputed_;
  summary.plan_cache = {counts.hits, counts.misses, counts.evictions};
}

}  // namespace

std::unique_ptr<StepRunner> MakeEagerRunner(exec::Runtime& runtime, const Network& network,
                                            const StepRunnerOptions& options) {
  return std::make_unique<EagerRunner>(runtime, network, options);
}

}  // namespace tenon

#include "core/train/graph_runner.h"

#include <algorithm>
#include <cmath>

#include "core/base/log.h"
#include "core/base/lru_cache.h"
#include "core/exec/program.h"
#include "core/train/fallback_report.h"
#include "core/train/graph_dump.h"
#include "core/train/loss_scaler.h"
#include "core/train/non_finite_loss.h"
#include "core/train/step_outcome.h"
#include "core/train/step_scalars.h"
#include "core/train/trained_network.h"

namespace tenon {
namespace {

constexpr std::size_t kMostPrograms = 64;

// One compiled program per shape of a batch and purpose; all share the variables and the arena.
class GraphRunner final : public StepRunner {
 public:
  GraphRunner(exec::Runtime& runtime, const Network& network, const StepRunnerOptions& options)
      : runtime_(runtime),
        options_(options),
        config_(*options.config),
        network_(network, options, runtime.device()),
        outcome_(options.exchange),
        fallbacks_(options.config->fallback) {}

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
  std::optional<exec::StepPlan> Plan() const override;
  void AddTo(RunSummary& summary) const override;

 private:
  enum class Purpose {
    kStep,        // forward, backward, update
    kAccumulate,  // forward, backward, gradients into sums
    kApply,       // update with the sums; reads no batch
    kNothing,     // the same where the other ranks do a kStep and this one has no batch: its sums are zero
    kEvaluate,    // forward
  };
  struct Key {
    Purpose purpose;
    BatchShape shape = {};
    bool operator==(const Key& other) const { return purpose == other.purpose && shape == other.shape; }
  };
  struct Compiled {
    std::unique_ptr<exec::Program> program;
    Tensor output = {};  // kEvaluate
  };

  Result<Compiled*> Get(const Key& key);
  Result<Compiled> Compile(const Key& key);
  Status AddNetwork(passes::Compilation& state, const Key& key);
  void NoteNames(const graph::Graph& graph);
  void NoteKernels(const exec::Program& program);
  Status FeedScalars(exec::Program& program) const;
  Status FeedBatch(Compiled& compiled, const Batch& batch);
  template <class T>
  static Status ReadScalar(const exec::Program& program, graph::ValueId id, T* value);
  Status ReadNorm(const exec::Program& program);
  Status RunScaled(exec::Program& program, const exec::RunOptions& run, double loss);
  Status Apply(Purpose purpose, const exec::RunOptions& run);
  Status ExplainLoss(exec::Program& program, const Batch& batch, const StepPart& part, const exec::RunOptions& run,
                     double loss);

  exec::Runtime& runtime_;
  const StepRunnerOptions options_;
  const RunConfig& config_;
  TrainedNetwork network_;
  StepOutcome outcome_;
  LruCache<Key, Compiled> programs_{kMostPrograms};
  std::map<std::string, RunSummary::KernelCount> kernels_;
  FallbackList fallbacks_;
  std::map<std::string, std::int64_t> fusions_;
  std::int64_t plan_bytes_ = 0, recomputed_ = 0;
  StepScalars scalars_;  // fed by address
};

Status GraphRunner::AddNetwork(passes::Compilation& state, const Key& key) {
  const bool training = key.purpose != Purpose::kEvaluate;
  TENON_ASSIGN(const TrainedNetwork::Forward forward, network_.AddForward(state.graph, key.shape, training));
  state.graph.outputs = {forward.loss};
  state.precision = forward.precision;
  if (!training) {
    state.graph.outputs.push_back(forward.output);
    return {};
  }
  state.loss = forward.loss;
  state.trained = forward.trained;
  state.recompute = config_.train.recompute;
  network_.AddLossScale(state);
  if (network_.WeighsLoss())
    state.loss_seed = state.graph.AddInput(std::string(passes::kLossSeedInput), {DType::kF32, SymShape{}});
  if (key.purpose == Purpose::kAccumulate) {
    state.accumulate = true;
    return {};
  }
  network_.AddUpdate(state);
  return {};
}

Result<GraphRunner::Compiled> GraphRunner::Compile(const Key& key) {
  const ActivityScope scope(runtime_.device().activity(), ActivityKind::kCompile);
  static constexpr const char* kNames[] = {"train_step", "accumulate", "apply", "apply_nothing", "evaluate"};
  passes::Compilation state;
  state.graph = network_.NewGraph();
  state.graph.name = kNames[static_cast<int>(key.purpose)];
  state.target = &runtime_.target();
  state.pinned_layout = [this](std::string_view name) { return network_.variables().LayoutOf(name); };
  if (key.purpose == Purpose::kApply || key.purpose == Purpose::kNothing) {
    network_.AddSums(state);
    if (key.purpose == Purpose::kNothing) network_.AddLossScale(state);
    network_.AddUpdate(state);
  } else {
    TENON_TRY(AddNetwork(state, key));
  }
  passes::PipelineOptions pipeline;
  pipeline.disabled = config_.passes.disabled;
  GraphDump dump(options_.graphs_folder, static_cast<int>(config_.save_graphs));
  pipeline.observer = dump.Observer();
  TENON_TRY(passes::RunPipeline(state, pipeline));
  TENON_TRY(dump.status());
  NoteNames(state.graph);
  recomputed_ = std::max(recomputed_, state.recomputed);
  if (key.purpose == Purpose::kAccumulate || key.purpose == Purpose::kStep) network_.NoteTrained(state);
  for (const std::string& note : state.notes) TENON_LOG(kDebug, "passes", "{}", note);
  for (const auto& fusion : state.fusions) fusions_[fusion.first] = fusion.second;
  Compiled compiled;
  TENON_ASSIGN(compiled.program,
               exec::Program::Build(std::move(state), network_.variables(),
                                    static_cast<std::uint32_t>(runtime_.threads()), options_.exchange));
  if (key.purpose == Purpose::kEvaluate) {
    const ValueType& type = compiled.program->graph().value(compiled.program->graph().outputs[1]).type;
    compiled.output = Tensor(type.dtype, type.shape.Concrete());
  }
  NoteKernels(*compiled.program);
  return compiled;
}

void GraphRunner::NoteNames(const graph::Graph& graph) {
  for (graph::ValueId id = 0; id < graph.num_values(); ++id) {
    const graph::ValueInfo& value = graph.value(id);
    if (value.kind == graph::ValueKind::kParameter || value.kind == graph::ValueKind::kState)
      network_.NoteName(value.name);
  }
}

void GraphRunner::NoteKernels(const exec::Program& program) {
  plan_bytes_ = std::max(plan_bytes_, program.arena_bytes());
  for (const exec::Fallback& fallback : program.Fallbacks()) fallbacks_.Note(fallback);
  for (const auto& use : program.KernelsUsed()) {
    RunSummary::KernelCount& count = kernels_[use.op];
    ++(use.reference ? count.reference : count.fast);
    if (use.high) ++count.high;
    if (use.reference) TENON_LOG(kDebug, "exec", "node '{}' ({}) runs the reference kernel", use.node, use.op);
  }
}

Result<GraphRunner::Compiled*> GraphRunner::Get(const Key& key) {
  if (Compiled* compiled = programs_.Find(key)) return compiled;
  TENON_ASSIGN(Compiled compiled, Compile(key));
  return programs_.Add(key, std::move(compiled));
}

// An input that the program does not read is not fed.
Status GraphRunner::FeedScalars(exec::Program& program) const {
  return scalars_.ForEach([&program](std::string_view name, const auto& number) {
    const int index = program.FindInput(name);
    return index < 0 ? Status() : program.Feed(index, &number, sizeof number);
  });
}

Status GraphRunner::FeedBatch(Compiled& compiled, const Batch& batch) {
  exec::Program& program = *compiled.program;
  const int input = program.FindInput(kSamplesInput), labels = program.FindInput(kLabelsInput);
  if (input >= 0) TENON_TRY(program.Feed(input, batch.samples.raw(), batch.samples.bytes()));
  if (labels >= 0) TENON_TRY(program.Feed(labels, batch.labels.raw(), batch.labels.bytes()));
  return {};
}

// Of a value that is an output of the graph.
template <class T>
Status GraphRunner::ReadScalar(const exec::Program& program, graph::ValueId id, T* value) {
  const auto& outputs = program.graph().outputs;
  const auto at = std::find(outputs.begin(), outputs.end(), id);
  return program.ReadOutput(static_cast<std::size_t>(at - outputs.begin()), value, sizeof *value);
}

Status GraphRunner::ReadNorm(const exec::Program& program) {
  const graph::ValueId norm = program.compilation().gradient_norm;
  if (norm == graph::kNone) return {};
  float value = 0;
  TENON_TRY(ReadScalar(program, norm, &value));
  outcome_.NoteGradientNorm(static_cast<double>(value));
  return {};
}

Result<double> GraphRunner::Train(const Batch& batch, const StepPart& part) {
  const bool whole = network_.IsWholeStep(part);
  TENON_ASSIGN(Compiled * compiled, Get({whole ? Purpose::kStep : Purpose::kAccumulate, BatchShape(batch)}));
  exec::Program& program = *compiled->program;
  TENON_TRY(FeedBatch(*compiled, batch));
  outcome_.Begin(part);
  scalars_ = StepScalars(part, network_.WeighsLoss());
  TENON_TRY(FeedScalars(program));
  // The optimiser's states belong into every checkpoint, also into one before the first update.
  if (!whole) TENON_TRY(Get({Purpose::kApply}));
  exec::RunOptions run;
  run.seed = static_cast<std::uint64_t>(config_.seed);
  run.position = static_cast<std::uint64_t>(part.position);
  TENON_TRY(program.RunToLoss(run));
  TENON_ASSIGN(const double loss, program.Loss());
  const bool scaled = ScalesLoss(config_.amp);
  if (!scaled && !std::isfinite(loss)) return ExplainLoss(program, batch, part, run, loss);
  if (whole) TENON_TRY(outcome_.AddLoss(part, loss * part.weight));
  if (scaled) {
    TENON_TRY(RunScaled(program, run, loss));
  } else {
    TENON_TRY(program.RunAfterLoss(run));
  }
  if (whole && !scaled) TENON_TRY(outcome_.ReadTotals());
  if (whole && !outcome_.overflowed()) TENON_TRY(ReadNorm(program));
  if (whole) return loss;
  TENON_TRY(outcome_.AddLoss(part, loss * part.weight));
  if (part.last && (options_.exchange != nullptr || !outcome_.overflowed())) TENON_TRY(Apply(Purpose::kApply, run));
  return loss;
}

// The update with the sums of the step.
Status GraphRunner::Apply(Purpose purpose, const exec::RunOptions& run) {
  TENON_ASSIGN(Compiled * compiled, Get({purpose}));
  exec::Program& apply = *compiled->program;
  TENON_TRY(FeedScalars(apply));
  TENON_TRY(apply.RunToLaunched(run));
  TENON_TRY(outcome_.ReadTotals());
  if (apply.compilation().finite != graph::kNone) {
    bool finite = false;
    TENON_TRY(apply.RunLaunchedToFinite(run));
    TENON_TRY(ReadScalar(apply, apply.compilation().finite, &finite));
    if (!finite) outcome_.NoteOverflow();
    if (!outcome_.overflowed()) TENON_TRY(apply.RunAfterFinite(run));
  } else if (!outcome_.overflowed()) {
    TENON_TRY(apply.RunAfterLaunched(run));
  }
  if (outcome_.overflowed()) return options_.exchange == nullptr ? Status() : options_.exchange->AwaitAll();
  return ReadNorm(apply);
}

Status GraphRunner::TrainWithout(const StepPart& part) {
  outcome_.Begin(part);
  scalars_ = StepScalars(part, network_.WeighsLoss());
  TENON_TRY(outcome_.AddLoss(part, 0));
  const Purpose purpose = config_.train.accumulate == 1 ? Purpose::kNothing : Purpose::kApply;
  TENON_TRY(Get({purpose}));
  TENON_TRY(network_.ClearSums());
  exec::RunOptions run;
  run.seed = static_cast<std::uint64_t>(config_.seed);
  return Apply(purpose, run);
}

// The rest of a batch whose loss is scaled; what is not finite is kept out of sums and parameters. With several ranks the
// gradients are summed first, so that all find the same.
Status GraphRunner::RunScaled(exec::Program& program, const exec::RunOptions& run, double loss) {
  const bool summed = !program.compilation().memory.buckets.empty();
  if (std::isfinite(loss) || summed) {
    TENON_TRY(program.RunToFinite(run));
    bool finite = false;
    TENON_TRY(ReadScalar(program, program.compilation().finite, &finite));
    if (summed) TENON_TRY(outcome_.ReadTotals());
    if (finite && !outcome_.overflowed()) return program.RunAfterFinite(run);
  }
  outcome_.NoteOverflow();
  return program.KeepForwardStates();
}

Status GraphRunner::ExplainLoss(exec::Program& program, const Batch& batch, const StepPart& part,
                                const exec::RunOptions& run, double loss) {
  return ExplainNonFiniteLoss(part, loss, batch, network_, [&](exec::StepObserver& observer) {
    exec::RunOptions observed = run;
    observed.observer = &observer;
    return program.RunToLoss(observed);
  });
}

Result<StepRunner::Evaluation> GraphRunner::Evaluate(const Batch& batch) {
  TENON_ASSIGN(Compiled * compiled, Get({Purpose::kEvaluate, BatchShape(batch)}));
  TENON_TRY(FeedBatch(*compiled, batch));
  exec::RunOptions run;  // of operators whose constants say that they draw random numbers in an evaluation too
  run.seed = static_cast<std::uint64_t>(config_.seed);
  TENON_TRY(compiled->program->Run(run));
  TENON_TRY(compiled->program->ReadOutput(1, compiled->output.raw(), compiled->output.bytes()));
  float loss = 0;
  TENON_TRY(compiled->program->ReadOutput(0, &loss, sizeof loss));
  return Evaluation{static_cast<double>(loss), &compiled->output};
}

Status GraphRunner::Prepare(const Batch& like) {
  if (config_.train.accumulate == 1) return Get({Purpose::kStep, BatchShape(like)}).status();
  TENON_TRY(Get({Purpose::kAccumulate, BatchShape(like)}));
  return Get({Purpose::kApply}).status();
}

// Of the largest training program, with the memory of all programs of a step.
std::optional<exec::StepPlan> GraphRunner::Plan() const {
  const exec::Program* largest = nullptr;
  std::int64_t most = -1;
  for (const auto& [key, compiled] : programs_.entries()) {
    const bool trains = key.purpose == Purpose::kStep || key.purpose == Purpose::kAccumulate;
    if (!trains || key.shape.samples.elements() <= most) continue;
    largest = compiled.program.get();
    most = key.shape.samples.elements();
  }
  if (largest == nullptr) return std::nullopt;
  exec::StepPlan plan = exec::DescribeStep(*largest, runtime_.target());
  plan.variable_bytes = network_.variables().bytes();
  plan.arena_bytes = plan_bytes_;
  return plan;
}

void GraphRunner::AddTo(RunSummary& summary) const {
  summary.kernels = kernels_;
  summary.fusions = fusions_;
  fallbacks_.AddTo(summary);
  const auto& counts = programs_.counts();
  summary.plan_cache = {counts.hits, counts.misses, counts.evictions};
  summary.recomputed_nodes = recomputed_;
  summary.plan_mb = static_cast<double>(plan_bytes_ + network_.variables().bytes()) / (1 << 20);
}

}  // namespace

std::unique_ptr<StepRunner> MakeGraphRunner(exec::Runtime& runtime, const Network& network,
                                            const StepRunnerOptions& options) {
  return std::make_unique<GraphRunner>(runtime, network, options);
}

}  // namespace tenon

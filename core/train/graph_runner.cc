// mode: graph. One compiled program per shape of a batch and purpose; all share the variables and the arena.
#include <algorithm>
#include <cmath>
#include <list>
#include <set>

#include "core/base/log.h"
#include "core/debug/non_finite.h"
#include "core/exec/program.h"
#include "core/train/fallback_report.h"
#include "core/train/graph_dump.h"
#include "core/train/loss.h"
#include "core/train/loss_scaler.h"
#include "core/train/non_finite_loss.h"
#include "core/train/parameter_plan.h"
#include "core/train/precision.h"
#include "core/train/step_runner.h"
#include "core/train/trained_graph.h"

namespace tenon {
namespace {

constexpr std::size_t kMostPrograms = 64;
constexpr const char* kInputName = "input";
constexpr const char* kLabelsName = "labels";

class GraphRunner final : public StepRunner {
 public:
  GraphRunner(exec::Runtime& runtime, const Network& network, const StepRunnerOptions& options)
      : runtime_(runtime),
        network_(network),
        options_(options),
        config_(*options.config),
        variables_(runtime.device()),
        fallbacks_(options.config->fallback) {}

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
  struct Compiled {
    Purpose purpose;
    BatchShape shape;
    std::unique_ptr<exec::Program> program;
    Tensor output = {};  // kEvaluate
  };

  Result<Compiled*> Get(Purpose purpose, const BatchShape& shape);
  Result<Compiled> Compile(Purpose purpose, const BatchShape& shape);
  Status AddNetwork(passes::Compilation& state, Purpose purpose, const BatchShape& shape);
  void NoteNames(const graph::Graph& graph);
  void NoteKernels(const Compiled& compiled);
  template <class T>
  static Status FeedScalar(exec::Program& program, std::string_view name, const T& value);
  Status FeedBatch(Compiled& compiled, const Batch& batch);
  Status FeedUpdate(exec::Program& program);
  template <class T>
  static Status ReadScalar(const exec::Program& program, graph::ValueId id, T* value);
  Status ReadNorm(const exec::Program& program);
  Status RunScaled(exec::Program& program, const exec::RunOptions& run, double loss);
  void BeginStep(const StepPart& part);
  Status BeginExchange(const StepPart& part, double loss);
  Status NoteTotals();
  Status Apply(Purpose purpose, const exec::RunOptions& run);
  Status ClearSums();
  bool Scaled(Purpose purpose) const;
  Status ExplainLoss(Compiled& compiled, const Batch& batch, const exec::RunOptions& run, double loss,
                     std::int64_t step);

  exec::Runtime& runtime_;
  const Network& network_;
  const StepRunnerOptions options_;
  const RunConfig& config_;
  exec::Variables variables_;
  std::list<Compiled> programs_;  // most recently used first
  std::vector<std::string> parameter_names_, state_names_;
  std::set<std::string> of_network_;  // its parameters and states
  ParameterPlan plan_;
  std::vector<TrainedParameter> summed_;  // those with a sum of gradients
  std::map<std::string, RunSummary::KernelCount> kernels_;
  FallbackList fallbacks_;
  std::map<std::string, std::int64_t> fusions_;
  RunSummary::PlanCache cache_;
  std::int64_t plan_bytes_ = 0, recomputed_ = 0;
  // Fed by address.
  float learning_rate_ = 0, weight_ = 0, loss_scale_ = 1, loss_seed_ = 1;
  std::int64_t optimizer_step_ = 0, start_ = 0;
  std::optional<double> gradient_norm_;
  bool overflowed_ = false;  // in a batch of the current step
  double loss_ = 0;          // of the current step, as far as this rank has seen it
  exec::StepTotals totals_;
};

Status GraphRunner::AddNetwork(passes::Compilation& state, Purpose purpose, const BatchShape& shape) {
  const SampleLayout& layout = options_.layout;
  const bool training = purpose != Purpose::kEvaluate;
  const graph::ValueId input = state.graph.AddInput(kInputName, {layout.dtype, SymShape(shape.samples)});
  const graph::ValueId labels = state.graph.AddInput(kLabelsName, {layout.label_dtype, SymShape(shape.labels)});
  TENON_ASSIGN(const Network::Build build, network_.AddTo(state.graph, input, training));
  TENON_ASSIGN(const graph::ValueId loss, AddLoss(config_.loss, state.graph, build.output, labels));
  state.graph.outputs = {loss};
  state.precision = PrecisionOf(config_.amp);
  TENON_ASSIGN(plan_, PlanParameters(config_, state.graph, build.parameters));
  const std::vector<graph::ValueId> trained = plan_.Trained(state.graph, build.parameters);
  for (const auto& initial : build.initial) of_network_.insert(initial.first);
  TENON_TRY(KeepFirstValues(options_, build, state.graph, trained, variables_));
  if (!training) {
    state.graph.outputs.push_back(build.output);
    UseAverages(state.graph, build.parameters, variables_);
    return {};
  }
  state.loss = loss;
  if (ScalesLoss(config_.amp))
    state.loss_scale = state.graph.AddInput(std::string(passes::kLossScaleInput), {DType::kF32, SymShape{}});
  if (options_.exchange != nullptr && purpose == Purpose::kStep) {
    state.loss_seed = state.graph.AddInput(std::string(passes::kLossSeedInput), {DType::kF32, SymShape{}});
    state.buckets = BucketRuleOf(config_.parallel);
  }
  state.trained = trained;
  state.recompute = config_.train.recompute;
  if (purpose == Purpose::kAccumulate) {
    state.accumulate = true;
    return {};
  }
  state.clip = ClipRuleOf(config_.train);
  state.update = UpdateRuleOf(config_, plan_);
  return {};
}

Result<GraphRunner::Compiled> GraphRunner::Compile(Purpose purpose, const BatchShape& shape) {
  const ActivityScope scope(runtime_.device().activity(), ActivityKind::kCompile);
  static constexpr const char* kNames[] = {"train_step", "accumulate", "apply", "apply_nothing", "evaluate"};
  passes::Compilation state;
  state.graph = network_.NewGraph();
  state.graph.name = kNames[static_cast<int>(purpose)];
  state.target = &runtime_.target();
  state.pinned_layout = [this](std::string_view name) { return variables_.LayoutOf(name); };
  if (purpose == Purpose::kApply || purpose == Purpose::kNothing) {
    AddSummed(state, summed_);
    if (options_.exchange != nullptr) state.buckets = BucketRuleOf(config_.parallel);
    if (purpose == Purpose::kNothing && Scaled(purpose))
      state.loss_scale = state.graph.AddInput(std::string(passes::kLossScaleInput), {DType::kF32, SymShape{}});
    state.clip = ClipRuleOf(config_.train);
    state.update = UpdateRuleOf(config_, plan_);
  } else {
    TENON_TRY(AddNetwork(state, purpose, shape));
  }
  passes::PipelineOptions pipeline;
  pipeline.disabled = config_.passes.disabled;
  GraphDump dump(options_.graphs_folder, static_cast<int>(config_.save_graphs));
  pipeline.observer = dump.Observer();
  TENON_TRY(passes::RunPipeline(state, pipeline));
  TENON_TRY(dump.status());
  NoteNames(state.graph);
  recomputed_ = std::max(recomputed_, state.recomputed);
  if (purpose == Purpose::kAccumulate || purpose == Purpose::kStep) summed_ = TrainedOf(state);
  for (const std::string& note : state.notes) TENON_LOG(kDebug, "passes", "{}", note);
  for (const auto& fusion : state.fusions) fusions_[fusion.first] = fusion.second;
  Compiled compiled{purpose, shape, nullptr};
  TENON_ASSIGN(compiled.program,
               exec::Program::Build(std::move(state), variables_, static_cast<std::uint32_t>(runtime_.threads()),
                                    options_.exchange));
  if (purpose == Purpose::kEvaluate) {
    const ValueType& type = compiled.program->graph().value(compiled.program->graph().outputs[1]).type;
    compiled.output = Tensor(type.dtype, type.shape.Concrete());
  }
  NoteKernels(compiled);
  return compiled;
}

// Sums of gradients live within one step and are nobody's to save.
void GraphRunner::NoteNames(const graph::Graph& graph) {
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (graph::ValueId id = 0; id < graph.num_values(); ++id) {
    const graph::ValueInfo& value = graph.value(id);
    if (value.kind != graph::ValueKind::kParameter && value.kind != graph::ValueKind::kState) continue;
    if (value.name.starts_with(passes::kSumPrefix)) continue;
    std::vector<std::string>& names = of_network_.count(value.name) > 0 ? parameter_names_ : state_names_;
    if (!known(names, value.name)) names.push_back(value.name);
  }
}

void GraphRunner::NoteKernels(const Compiled& compiled) {
  plan_bytes_ = std::max(plan_bytes_, compiled.program->arena_bytes());
  for (const exec::Fallback& fallback : compiled.program->Fallbacks()) fallbacks_.Note(fallback);
  for (const auto& use : compiled.program->KernelsUsed()) {
    RunSummary::KernelCount& count = kernels_[use.op];
    ++(use.reference ? count.reference : count.fast);
    if (use.split) ++count.split;
    if (use.reference) TENON_LOG(kDebug, "exec", "node '{}' ({}) runs the reference kernel", use.node, use.op);
  }
}

Result<GraphRunner::Compiled*> GraphRunner::Get(Purpose purpose, const BatchShape& shape) {
  for (auto at = programs_.begin(); at != programs_.end(); ++at) {
    if (at->purpose != purpose || !(at->shape == shape)) continue;
    ++cache_.hits;
    programs_.splice(programs_.begin(), programs_, at);
    return &programs_.front();
  }
  ++cache_.misses;
  auto compiled = Compile(purpose, shape);
  if (!compiled.ok()) return std::move(compiled).status();
  programs_.push_front(std::move(compiled).value());
  if (programs_.size() > kMostPrograms) {
    programs_.pop_back();
    ++cache_.evictions;
  }
  return &programs_.front();
}

// An input that the program does not read is not fed.
template <class T>
Status GraphRunner::FeedScalar(exec::Program& program, std::string_view name, const T& value) {
  const int index = program.FindInput(name);
  return index < 0 ? Status() : program.Feed(index, &value, sizeof value);
}

Status GraphRunner::FeedBatch(Compiled& compiled, const Batch& batch) {
  exec::Program& program = *compiled.program;
  const int input = program.FindInput(kInputName), labels = program.FindInput(kLabelsName);
  if (input >= 0) TENON_TRY(program.Feed(input, batch.samples.raw(), batch.samples.bytes()));
  if (labels >= 0) TENON_TRY(program.Feed(labels, batch.labels.raw(), batch.labels.bytes()));
  return {};
}

Status GraphRunner::FeedUpdate(exec::Program& program) {
  TENON_TRY(FeedScalar(program, passes::kLearningRateInput, learning_rate_));
  return FeedScalar(program, passes::kStepInput, optimizer_step_);
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
  gradient_norm_ = static_cast<double>(value);
  return {};
}

void GraphRunner::BeginStep(const StepPart& part) {
  learning_rate_ = static_cast<float>(part.learning_rate);
  optimizer_step_ = part.step + 1;
  weight_ = static_cast<float>(part.weight);
  start_ = part.first ? 1 : 0;
  loss_scale_ = static_cast<float>(part.loss_scale);
  loss_seed_ = static_cast<float>(part.loss_scale * part.weight);
  if (!part.first) return;
  overflowed_ = false;
  gradient_norm_.reset();
  loss_ = 0;
}

// What the other ranks learn with the gradients.
Status GraphRunner::BeginExchange(const StepPart& part, double loss) {
  loss_ += loss;
  if (options_.exchange == nullptr || !part.last) return {};
  return options_.exchange->Begin({loss_, overflowed_ ? 1.0 : 0.0, part.stop ? 1.0 : 0.0, part.counted}, part.expected);
}

// No rank updates where one has seen a loss or sums that are not finite.
Status GraphRunner::NoteTotals() {
  if (options_.exchange == nullptr) return {};
  TENON_ASSIGN(totals_, options_.exchange->Totals());
  const bool nothing = totals_.counted == 0;  // all labels of the step are ignored
  overflowed_ = overflowed_ || totals_.overflow != 0 || !std::isfinite(totals_.loss) || nothing;
  return {};
}

Result<double> GraphRunner::Train(const Batch& batch, const StepPart& part) {
  // Ranks may have different numbers of batches; all add them up in the same way.
  const bool ranks = options_.exchange != nullptr;
  const bool whole = part.first && part.last && (!ranks || config_.train.accumulate == 1);
  TENON_ASSIGN(Compiled * compiled, Get(whole ? Purpose::kStep : Purpose::kAccumulate, BatchShape(batch)));
  exec::Program& program = *compiled->program;
  TENON_TRY(FeedBatch(*compiled, batch));
  BeginStep(part);
  TENON_TRY(FeedUpdate(program));
  TENON_TRY(FeedScalar(program, passes::kWeightInput, weight_));
  TENON_TRY(FeedScalar(program, passes::kStartInput, start_));
  TENON_TRY(FeedScalar(program, passes::kLossScaleInput, loss_scale_));
  TENON_TRY(FeedScalar(program, passes::kLossSeedInput, loss_seed_));
  // The optimiser's states belong into every checkpoint, also into one before the first update.
  if (!whole) TENON_TRY(Get(Purpose::kApply, BatchShape()));
  exec::RunOptions run;
  run.seed = static_cast<std::uint64_t>(config_.seed);
  run.position = static_cast<std::uint64_t>(part.position);
  TENON_TRY(program.RunToLoss(run));
  TENON_ASSIGN(const double loss, program.Loss());
  const bool scaled = ScalesLoss(config_.amp);
  if (!scaled && !std::isfinite(loss)) return ExplainLoss(*compiled, batch, run, loss, part.step);
  if (whole) TENON_TRY(BeginExchange(part, loss * part.weight));
  if (scaled) {
    TENON_TRY(RunScaled(program, run, loss));
  } else {
    TENON_TRY(program.RunAfterLoss(run));
  }
  if (whole && !scaled) TENON_TRY(NoteTotals());
  if (whole && !overflowed_) TENON_TRY(ReadNorm(program));
  if (whole) return loss;
  TENON_TRY(BeginExchange(part, loss * part.weight));
  if (part.last && (ranks || !overflowed_)) TENON_TRY(Apply(Purpose::kApply, run));
  return loss;
}

// The update with the sums of the step.
Status GraphRunner::Apply(Purpose purpose, const exec::RunOptions& run) {
  TENON_ASSIGN(Compiled * compiled, Get(purpose, BatchShape()));
  exec::Program& apply = *compiled->program;
  TENON_TRY(FeedUpdate(apply));
  TENON_TRY(FeedScalar(apply, passes::kLossScaleInput, loss_scale_));
  TENON_TRY(apply.RunToLaunched(run));
  TENON_TRY(NoteTotals());
  if (Scaled(purpose)) {
    bool finite = false;
    TENON_TRY(apply.RunLaunchedToFinite(run));
    TENON_TRY(ReadScalar(apply, apply.compilation().finite, &finite));
    overflowed_ = overflowed_ || !finite;
    if (!overflowed_) TENON_TRY(apply.RunAfterFinite(run));
  } else if (!overflowed_) {
    TENON_TRY(apply.RunAfterLaunched(run));
  }
  if (overflowed_) return options_.exchange == nullptr ? Status() : options_.exchange->AwaitAll();
  return ReadNorm(apply);
}

// Does the program of this purpose get gradients that are still scaled?
bool GraphRunner::Scaled(Purpose purpose) const {
  return purpose == Purpose::kNothing && config_.train.accumulate == 1 && ScalesLoss(config_.amp);
}

Status GraphRunner::TrainWithout(const StepPart& part) {
  BeginStep(part);
  TENON_TRY(BeginExchange(part, 0));
  const Purpose purpose = config_.train.accumulate == 1 ? Purpose::kNothing : Purpose::kApply;
  TENON_TRY(Get(purpose, BatchShape()));
  TENON_TRY(ClearSums());
  exec::RunOptions run;
  run.seed = static_cast<std::uint64_t>(config_.seed);
  return Apply(purpose, run);
}

Status GraphRunner::ClearSums() {
  for (const TrainedParameter& one : summed_) {
    const std::string name = std::string(passes::kSumPrefix) + one.name;
    TENON_TRY(variables_.Set(name, Tensor(one.type.dtype, one.type.shape.Concrete())));
  }
  return {};
}

// The rest of a batch whose loss is scaled; what is not finite is kept out of sums and parameters. With several ranks the
// gradients are summed first, so that all find the same.
Status GraphRunner::RunScaled(exec::Program& program, const exec::RunOptions& run, double loss) {
  const bool summed = !program.compilation().memory.buckets.empty();
  if (std::isfinite(loss) || summed) {
    TENON_TRY(program.RunToFinite(run));
    bool finite = false;
    TENON_TRY(ReadScalar(program, program.compilation().finite, &finite));
    if (summed) TENON_TRY(NoteTotals());
    if (finite && !overflowed_) return program.RunAfterFinite(run);
  }
  overflowed_ = true;
  return program.KeepForwardStates();
}

// Looks for the cause: the data, a parameter that is not finite already, or the first operator of the forward pass.
Status GraphRunner::ExplainLoss(Compiled& compiled, const Batch& batch, const exec::RunOptions& run, double loss,
                                std::int64_t step) {
  const std::string doing = DescribeNonFiniteStep(step, loss);
  TENON_TRY_WHILE(FindNonFiniteInput(batch, parameter_names_, variables_), "{}", doing);
  NonFiniteFinder finder;
  exec::RunOptions observed = run;
  observed.observer = &finder;
  Status found = compiled.program->RunToLoss(observed);
  if (!found.ok()) return std::move(found).While(doing);
  return Error(Code::kAborted, "The loss is {}, but a second run of the same step is finite.", loss).While(doing);
}

Result<StepRunner::Evaluation> GraphRunner::Evaluate(const Batch& batch) {
  TENON_ASSIGN(Compiled * compiled, Get(Purpose::kEvaluate, BatchShape(batch)));
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
  if (config_.train.accumulate == 1) return Get(Purpose::kStep, BatchShape(like)).status();
  TENON_TRY(Get(Purpose::kAccumulate, BatchShape(like)));
  return Get(Purpose::kApply, BatchShape()).status();
}

// Of the largest training program.
std::optional<exec::StepPlan> GraphRunner::Plan() const {
  const Compiled* largest = nullptr;
  for (const Compiled& compiled : programs_) {
    const bool trains = compiled.purpose == Purpose::kStep || compiled.purpose == Purpose::kAccumulate;
    if (trains && (largest == nullptr || compiled.shape.samples.elements() > largest->shape.samples.elements()))
      largest = &compiled;
  }
  if (largest == nullptr) return std::nullopt;
  return exec::DescribeStep(*largest->program, runtime_.target());
}

void GraphRunner::AddTo(RunSummary& summary) const {
  summary.kernels = kernels_;
  summary.fusions = fusions_;
  fallbacks_.AddTo(summary);
  summary.plan_cache = cache_;
  summary.recomputed_nodes = recomputed_;
  summary.plan_mb = static_cast<double>(plan_bytes_ + variables_.bytes()) / (1 << 20);
}

}  // namespace

Result<std::unique_ptr<StepRunner>> MakeGraphRunner(exec::Runtime& runtime, const Network& network,
                                                    const StepRunnerOptions& options) {
  return std::unique_ptr<StepRunner>(new GraphRunner(runtime, network, options));
}

}  // namespace tenon

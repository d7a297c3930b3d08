// mode: graph. One compiled program per batch size for training, another for evaluation; all share the variables.
#include <algorithm>
#include <cmath>
#include <list>
#include <set>

#include "core/base/log.h"
#include "core/debug/non_finite.h"
#include "core/exec/program.h"
#include "core/train/graph_dump.h"
#include "core/train/loss.h"
#include "core/train/non_finite_loss.h"
#include "core/train/optimizer.h"
#include "core/train/precision.h"
#include "core/train/step_runner.h"

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
        variables_(runtime.device()) {}

  Result<double> Train(const Batch& batch, double learning_rate, std::int64_t step) override;
  Result<Evaluation> Evaluate(const Batch& batch) override;
  Status Prepare(const Batch& like) override;
  exec::Variables& variables() override { return variables_; }
  std::vector<std::string> ParameterNames() const override { return parameter_names_; }
  std::vector<std::string> OptimizerStateNames() const override { return state_names_; }
  void AddTo(RunSummary& summary) const override;

 private:
  struct Compiled {
    bool training;
    std::int64_t batch;
    std::unique_ptr<exec::Program> program;
    int input, labels, learning_rate, step;
    Tensor output;
  };

  Result<Compiled*> Get(bool training, std::int64_t batch);
  Result<Compiled> Compile(bool training, std::int64_t batch);
  void NoteNames(const graph::Graph& graph, const std::set<std::string>& of_network);
  void NoteKernels(const Compiled& compiled);
  Status FeedBatch(Compiled& compiled, const Batch& batch);
  Status ExplainLoss(Compiled& compiled, const Batch& batch, const exec::RunOptions& run, double loss,
                     std::int64_t step);

  exec::Runtime& runtime_;
  const Network& network_;
  const StepRunnerOptions options_;
  const RunConfig& config_;
  exec::Variables variables_;
  std::list<Compiled> programs_;  // most recently used first
  std::vector<std::string> parameter_names_, state_names_;
  std::map<std::string, RunSummary::KernelCount> kernels_;
  std::map<std::string, std::int64_t> fusions_;
  RunSummary::PlanCache cache_;
  std::int64_t plan_bytes_ = 0;
  float learning_rate_ = 0;
  std::int64_t optimizer_step_ = 0;
};

Shape WithBatch(std::int64_t batch, const Shape& sample) {
  Shape shape{batch};
  for (const std::int64_t dim : sample.dims()) shape.push_back(dim);
  return shape;
}

Result<GraphRunner::Compiled> GraphRunner::Compile(bool training, std::int64_t batch) {
  passes::Compilation state;
  state.graph.name = training ? "train_step" : "evaluate";
  state.target = &runtime_.target();
  state.pinned_layout = [this](std::string_view name) { return variables_.LayoutOf(name); };
  const SampleLayout& layout = options_.layout;
  const graph::ValueId input =
      state.graph.AddInput(kInputName, {layout.dtype, SymShape(WithBatch(batch, layout.shape))});
  const graph::ValueId labels =
      state.graph.AddInput(kLabelsName, {layout.label_dtype, SymShape(WithBatch(batch, layout.label_shape))});
  TENON_ASSIGN(Network::Build build, network_.AddTo(state.graph, input, training));
  TENON_ASSIGN(const graph::ValueId loss, AddLoss(config_.loss, state.graph, build.output, labels));
  state.graph.outputs = {loss};
  state.precision = PrecisionOf(config_.amp);
  if (training) {
    state.loss = loss;
    state.trained = build.parameters;
    state.update = UpdateRuleOf(config_.optimizer);
  } else {
    state.graph.outputs.push_back(build.output);
  }
  std::set<std::string> of_network;
  for (const auto& initial : build.initial) {
    of_network.insert(initial.first);
    if (variables_.Has(initial.first)) continue;
    TENON_ASSIGN(Tensor value, MakeInitial(initial.second, static_cast<std::uint64_t>(config_.seed), initial.first));
    variables_.SetInitial(initial.first, std::move(value));
  }
  passes::PipelineOptions pipeline;
  pipeline.disabled = config_.passes.disabled;
  GraphDump dump(options_.graphs_folder, static_cast<int>(config_.save_graphs));
  pipeline.observer = dump.Observer();
  TENON_TRY(passes::RunPipeline(state, pipeline));
  TENON_TRY(dump.status());
  NoteNames(state.graph, of_network);
  for (const std::string& note : state.notes) TENON_LOG(kDebug, "passes", "{}", note);
  for (const auto& fusion : state.fusions) fusions_[fusion.first] = fusion.second;
  Compiled compiled{training, batch, nullptr, -1, -1, -1, -1, {}};
  TENON_ASSIGN(compiled.program,
               exec::Program::Build(std::move(state), variables_, static_cast<std::uint32_t>(runtime_.threads())));
  compiled.input = compiled.program->FindInput(kInputName);
  compiled.labels = compiled.program->FindInput(kLabelsName);
  compiled.learning_rate = compiled.program->FindInput(passes::kLearningRateInput);
  compiled.step = compiled.program->FindInput(passes::kStepInput);
  if (!training) {
    const ValueType& type = compiled.program->graph().value(compiled.program->graph().outputs[1]).type;
    compiled.output = Tensor(type.dtype, type.shape.Concrete());
  }
  NoteKernels(compiled);
  return compiled;
}

void GraphRunner::NoteNames(const graph::Graph& graph, const std::set<std::string>& of_network) {
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (graph::ValueId id = 0; id < graph.num_values(); ++id) {
    const graph::ValueInfo& value = graph.value(id);
    if (value.kind != graph::ValueKind::kParameter && value.kind != graph::ValueKind::kState) continue;
    std::vector<std::string>& names = of_network.count(value.name) > 0 ? parameter_names_ : state_names_;
    if (!known(names, value.name)) names.push_back(value.name);
  }
}

void GraphRunner::NoteKernels(const Compiled& compiled) {
  plan_bytes_ = std::max(plan_bytes_, compiled.program->arena_bytes());
  for (const auto& use : compiled.program->KernelsUsed()) {
    RunSummary::KernelCount& count = kernels_[use.op];
    ++(use.reference ? count.reference : count.fast);
    if (use.reference) TENON_LOG(kDebug, "exec", "node '{}' ({}) runs the reference kernel", use.node, use.op);
  }
}

Result<GraphRunner::Compiled*> GraphRunner::Get(bool training, std::int64_t batch) {
  for (auto at = programs_.begin(); at != programs_.end(); ++at) {
    if (at->training != training || at->batch != batch) continue;
    ++cache_.hits;
    programs_.splice(programs_.begin(), programs_, at);
    return &programs_.front();
  }
  ++cache_.misses;
  auto compiled = Compile(training, batch);
  if (!compiled.ok()) return std::move(compiled).status();
  programs_.push_front(std::move(compiled).value());
  if (programs_.size() > kMostPrograms) {
    programs_.pop_back();
    ++cache_.evictions;
  }
  return &programs_.front();
}

Status GraphRunner::FeedBatch(Compiled& compiled, const Batch& batch) {
  if (compiled.input >= 0)
    TENON_TRY(compiled.program->Feed(compiled.input, batch.samples.raw(), batch.samples.bytes()));
  if (compiled.labels >= 0)
    TENON_TRY(compiled.program->Feed(compiled.labels, batch.labels.raw(), batch.labels.bytes()));
  return {};
}

Result<double> GraphRunner::Train(const Batch& batch, double learning_rate, std::int64_t step) {
  TENON_ASSIGN(Compiled * compiled, Get(true, batch.count));
  exec::Program& program = *compiled->program;
  TENON_TRY(FeedBatch(*compiled, batch));
  learning_rate_ = static_cast<float>(learning_rate);
  optimizer_step_ = step + 1;
  if (compiled->learning_rate >= 0)
    TENON_TRY(program.Feed(compiled->learning_rate, &learning_rate_, sizeof learning_rate_));
  if (compiled->step >= 0) TENON_TRY(program.Feed(compiled->step, &optimizer_step_, sizeof optimizer_step_));
  exec::RunOptions run;
  run.seed = static_cast<std::uint64_t>(config_.seed);
  run.position = static_cast<std::uint64_t>(step);
  TENON_TRY(program.RunToLoss(run));
  TENON_ASSIGN(const double loss, program.Loss());
  if (!std::isfinite(loss)) return ExplainLoss(*compiled, batch, run, loss, step);
  TENON_TRY(program.RunAfterLoss(run));
  return loss;
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
  return Error(Code::kOutOfRange, "The loss is {}, but a second run of the same step is finite.", loss).While(doing);
}

Result<StepRunner::Evaluation> GraphRunner::Evaluate(const Batch& batch) {
  TENON_ASSIGN(Compiled * compiled, Get(false, batch.count));
  TENON_TRY(FeedBatch(*compiled, batch));
  TENON_TRY(compiled->program->Run({}));
  TENON_TRY(compiled->program->ReadOutput(1, compiled->output.raw(), compiled->output.bytes()));
  float loss = 0;
  TENON_TRY(compiled->program->ReadOutput(0, &loss, sizeof loss));
  return Evaluation{static_cast<double>(loss), &compiled->output};
}

Status GraphRunner::Prepare(const Batch& like) {
  TENON_TRY(Get(true, like.count));
  return {};
}

void GraphRunner::AddTo(RunSummary& summary) const {
  summary.kernels = kernels_;
  summary.fusions = fusions_;
  summary.plan_cache = cache_;
  summary.plan_mb = static_cast<double>(plan_bytes_) / (1 << 20);
}

}  // namespace

Result<std::unique_ptr<StepRunner>> MakeGraphRunner(exec::Runtime& runtime, const Network& network,
                                                    const StepRunnerOptions& options) {
  return std::unique_ptr<StepRunner>(new GraphRunner(runtime, network, options));
}

}  // namespace tenon

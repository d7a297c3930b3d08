#include <algorithm>
#include <optional>

#include "core/api/internal.h"
#include "core/config/load.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_match.h"
#include "core/train/checkpoint_state.h"
#include "core/train/init_weights.h"
#include "core/train/loss_scaler.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

namespace tenon::api {
namespace {

// A run needs data; a network alone does not. What the text leaves out is filled with what is never used.
ConfigNode WithData(const ConfigNode& root) {
  if (!root.is_map() || root.Find("data") != nullptr) return root;
  const Place& place = root.place();
  std::vector<ConfigEntry> entries = root.entries();
  const ConfigNode shape = ConfigNode::List({ConfigNode::Scalar("1", ScalarStyle::kPlain, place)}, place);
  const ConfigNode image = ConfigNode::Map({{"shape", place, shape}}, place);
  entries.push_back({"data", place,
                     ConfigNode::Map({{"type", place, ConfigNode::Scalar("synthetic", ScalarStyle::kPlain, place)},
                                      {"samples", place, ConfigNode::Scalar("1", ScalarStyle::kPlain, place)},
                                      {"classes", place, ConfigNode::Scalar("2", ScalarStyle::kPlain, place)},
                                      {"image", place, image}},
                                     place)});
  return ConfigNode::Map(std::move(entries), place);
}

tenon::Shape WithoutBatch(const tenon::Shape& shape) {
  const auto dims = shape.dims();
  return tenon::Shape(dims.subspan(1));
}

// The labels of a sample for scores [batch, ...] with the classes in axis 1 or in the last one.
tenon::Shape ClassesOf(const tenon::Shape& scores, bool last) {
  tenon::Shape labels;
  for (int axis = 1; axis < scores.rank(); ++axis) {
    if (axis != (last ? scores.rank() - 1 : 1)) labels.push_back(scores.dim(axis));
  }
  return labels;
}

tenon::Tensor HostCopy(const Tensor& tensor) {
  Tensor::Access::Required(tensor);
  return Value(Tensor::Access::EngineOf(tensor).ToHost(Tensor::Access::Handle(tensor)));
}

std::int64_t BatchOf(const tenon::Tensor& samples) {
  if (samples.shape().rank() < 1)
    Throw(InvalidArgument("A batch has the samples along its first axis; this one is a scalar."));
  return samples.shape()[0];
}

}  // namespace

struct Network::Impl {
  std::shared_ptr<Runtime::Core> core;
  RunConfig config;
  std::optional<tenon::Network> network;
  SampleLayout layout;
  std::unique_ptr<StepRunner> runner;
  std::int64_t steps = 0;
  LossScaler scaler;
  std::optional<Checkpoint> pending;  // loaded before the parameters exist
  std::string pending_path;
  FirstValues first_values;  // of init_from

  void Prepare(tenon::DType dtype, const tenon::Shape& sample, const tenon::Tensor* labels);
  tenon::Network::Build BuildOn(graph::Graph& graph, const SampleLayout& samples) const;
  double RateOf(double given) const;
  SampleLayout LayoutFor(tenon::DType dtype, const tenon::Shape& sample, const tenon::Tensor* labels) const;
  Batch AnyBatch() const;
  void CheckBatch(const tenon::Tensor& samples) const;
  void LoadInto(const Checkpoint& checkpoint, const std::string& path);
  std::vector<NamedTensor> Get(const std::vector<std::string>& names) const;
  StepRunner& Ready() const {
    if (runner == nullptr)
      Throw(tenon::Error(Code::kFailedPrecondition,
                         "The network has no parameters yet: run a batch or call Prepare first."));
    return *runner;
  }
  static std::unique_ptr<Impl> Make(const Runtime& runtime, const ConfigNode& root) {
    auto impl = std::make_unique<Impl>();
    impl->core = runtime.core();
    impl->config = Value(ReadRunConfig(WithData(root)));
    if (impl->config.math == MathMode::kHigh && !impl->core->math_high)
      Throw(InvalidArgument("'math: high' is a choice of the runtime: give it this file as RuntimeOptions::config.")
                .At(PlaceOf(impl->config.source, "math").ToString()));
    impl->scaler = LossScaler(impl->config.amp);
    impl->network = Value(tenon::Network::Make(impl->config.network, impl->core->runtime->ops()));
    impl->network->SetLongest(LongestOf(impl->config.data));
    return impl;
  }
};

// For one sample, without the loss.
tenon::Network::Build Network::Impl::BuildOn(graph::Graph& graph, const SampleLayout& samples) const {
  const graph::ValueId input = graph.AddInput("input", {samples.dtype, SymShape(samples.samples_shape(1))});
  return Value(network->AddTo(graph, input, false));
}

// Labels are as the loss takes them: a class for each sample or each position of it, or values of the shape of the output.
SampleLayout Network::Impl::LayoutFor(tenon::DType dtype, const tenon::Shape& sample,
                                      const tenon::Tensor* labels) const {
  SampleLayout made;
  made.dtype = dtype;
  made.shape = sample;
  made.label_kind = LabelKind::kClass;
  made.label_dtype = tenon::DType::kI64;
  if (labels != nullptr) {
    made.label_dtype = labels->dtype();
    made.label_shape = WithoutBatch(labels->shape());
    if (tenon::IsFloating(made.label_dtype)) made.label_kind = LabelKind::kValue;
    return made;
  }
  graph::Graph graph = network->NewGraph();
  const tenon::Network::Build build = BuildOn(graph, made);
  const ValueType& output = graph.value(build.output).type;
  if (!ComparesValues(config.loss)) {
    made.label_shape = ClassesOf(output.shape.Concrete(), /*last=*/tenon::IsInteger(dtype));
    return made;
  }
  made.label_kind = LabelKind::kValue;
  made.label_dtype = output.dtype;
  made.label_shape = WithoutBatch(output.shape.Concrete());
  return made;
}

void Network::Impl::Prepare(tenon::DType dtype, const tenon::Shape& sample, const tenon::Tensor* labels) {
  if (runner != nullptr) return;
  layout = LayoutFor(dtype, sample, labels);
  StepRunnerOptions options;
  options.config = &config;
  options.layout = layout;
  if (config.init_from && !pending) {
    graph::Graph graph = network->NewGraph();
    RunSummary counts;
    auto values = LoadFirstValues(*config.init_from, BuildOn(graph, layout).initial, &counts);
    if (!values.ok()) Throw(std::move(values).status().At(PlaceOf(config.source, "init_from").ToString()));
    first_values = std::move(values).value();
    options.first_values = &first_values;
  }
  runner = MakeStepRunner(*core->runtime, *network, options);
  if (!pending) return;
  Check(runner->Prepare(AnyBatch()));
  const Checkpoint checkpoint = std::move(*pending);
  pending.reset();
  LoadInto(checkpoint, pending_path);
}

// Of a step, from the caller or the optimiser. What a run does around its steps is refused where it would change them.
double Network::Impl::RateOf(double given) const {
  if (config.train.accumulate > 1)
    Throw(InvalidArgument("'train.accumulate' is {}, but TrainStep makes a step of one batch; set it to 1 and give the "
                          "samples of a step as one batch.",
                          config.train.accumulate)
              .At(PlaceOf(config.source, "train.accumulate").ToString()));
  if (given >= 0) return given;
  const auto* constant = std::get_if<ConstantScheduleConfig>(&config.schedule);
  if (constant == nullptr || constant->warmup_steps > 0)
    Throw(InvalidArgument("'schedule' ({}{}) needs the length of the run, which TrainStep does not know; give it the "
                          "learning rate of each step, or set schedule: constant.",
                          KindOf(config.schedule), constant == nullptr ? "" : " with warmup_steps")
              .At(PlaceOf(config.source, "schedule").ToString()));
  return LearningRate(config.optimizer);
}

// Zeros; two samples, since batch norm cannot train on one.
Batch Network::Impl::AnyBatch() const {
  Batch batch;
  batch.count = 2;
  batch.samples = tenon::Tensor(layout.dtype, layout.samples_shape(batch.count));
  batch.labels = tenon::Tensor(layout.label_dtype, layout.labels_shape(batch.count));
  return batch;
}

void Network::Impl::CheckBatch(const tenon::Tensor& samples) const {
  if (samples.dtype() == layout.dtype && WithoutBatch(samples.shape()) == layout.shape) return;
  Throw(InvalidArgument("The network was made for samples {}{}; this batch is {}.", tenon::NameOf(layout.dtype),
                        layout.shape, samples.Describe()));
}

std::vector<NamedTensor> Network::Impl::Get(const std::vector<std::string>& names) const {
  std::vector<NamedTensor> found;
  for (const std::string& name : names) found.push_back({name, Value(runner->variables().Get(name))});
  return found;
}

void Network::Impl::LoadInto(const Checkpoint& checkpoint, const std::string& path) {
  std::vector<TensorTarget> targets;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const exec::Variables::Variable* variable = runner->variables().Find(name);
      targets.push_back({name, variable->dtype, variable->shape});
    }
  };
  add(runner->ParameterNames());
  const std::vector<std::string> states = runner->OptimizerStateNames();
  const bool has_states = std::any_of(states.begin(), states.end(),
                                      [&](const std::string& name) { return checkpoint.Find(name) != nullptr; });
  if (has_states) add(states);
  MatchOptions match;
  match.ignore = [&](const std::string& name) {
    return IsRunScalarName(name) || (!has_states && IsOptimizerStateName(name));
  };
  auto report = MatchTensors(checkpoint, targets, match);
  if (!report.ok()) Throw(std::move(report).status().While(fmt::format("loading '{}' into the network", path)));
  for (std::size_t i = 0; i < targets.size(); ++i) Check(runner->variables().Set(targets[i].name, *report->tensors[i]));
  const auto scalars = ReadRunScalars(checkpoint);  // weights of another program have none
  steps = scalars.ok() ? scalars->global_step : 0;
  if (scalars.ok() && scalars->scaler && scaler.on()) scaler.Restore(*scalars->scaler);
}

Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Network Network::FromFile(const Runtime& runtime, const std::string& path, const std::vector<std::string>& overrides) {
  ConfigSource source;
  source.path = path;
  source.overrides = overrides;
  return Network(Impl::Make(runtime, Value(LoadConfig(source))));
}

Network Network::FromText(const Runtime& runtime, const std::string& yaml) {
  return Network(Impl::Make(runtime, Value(LoadConfigText(yaml, "network", "."))));
}

Tensor Network::Run(const Tensor& samples) {
  Batch batch;
  batch.samples = HostCopy(samples);
  batch.count = BatchOf(batch.samples);
  impl_->Prepare(batch.samples.dtype(), WithoutBatch(batch.samples.shape()), nullptr);
  impl_->CheckBatch(batch.samples);
  batch.labels =
      tenon::Tensor(impl_->layout.label_dtype, impl_->layout.labels_shape(batch.count));  // the loss is not asked for
  const StepRunner::Evaluation result = Value(impl_->runner->Evaluate(batch));
  return Tensor::Access::Wrap(Value(impl_->core->engine->FromHost(*result.output)));
}

double Network::TrainStep(const Tensor& samples, const Tensor& labels, double learning_rate) {
  const double rate = impl_->RateOf(learning_rate);
  Batch batch;
  batch.samples = HostCopy(samples);
  batch.labels = HostCopy(labels);
  batch.count = BatchOf(batch.samples);
  if (BatchOf(batch.labels) != batch.count)
    Throw(InvalidArgument("There are {} samples and {} labels.", batch.count, batch.labels.shape()[0]));
  impl_->Prepare(batch.samples.dtype(), WithoutBatch(batch.samples.shape()), &batch.labels);
  impl_->CheckBatch(batch.samples);
  if (batch.labels.dtype() != impl_->layout.label_dtype ||
      !(WithoutBatch(batch.labels.shape()) == impl_->layout.label_shape))
    Throw(InvalidArgument("The network was made for labels {}{}; these are {}.",
                          tenon::NameOf(impl_->layout.label_dtype), impl_->layout.label_shape,
                          batch.labels.Describe()));
  StepPart part{.learning_rate = rate, .position = impl_->steps, .loss_scale = impl_->scaler.scale()};
  part.step = impl_->steps - impl_->scaler.state().skipped_steps;
  const double loss = Value(impl_->runner->Train(batch, part));
  ++impl_->steps;
  Check(impl_->scaler.Update(impl_->runner->overflowed()));
  return loss;
}

std::int64_t Network::steps() const { return impl_->steps; }

std::vector<std::string> Network::ParameterNames() const { return impl_->Ready().ParameterNames(); }

Tensor Network::Parameter(const std::string& name) const {
  return Tensor::Access::Wrap(Value(impl_->core->engine->FromHost(Value(impl_->Ready().variables().Get(name)))));
}

void Network::SetParameter(const std::string& name, const Tensor& value) {
  Check(impl_->Ready().variables().Set(name, HostCopy(value)));
}

void Network::Save(const std::string& path) const {
  impl_->Ready();
  RunState state;
  state.parameters = impl_->Get(impl_->runner->ParameterNames());
  state.optimizer_state = impl_->Get(impl_->runner->OptimizerStateNames());
  state.global_step = impl_->steps;
  state.seed = impl_->config.seed;
  state.learning_rate = LearningRate(impl_->config.optimizer);
  if (impl_->scaler.on()) state.scaler = impl_->scaler.state();
  Check(SaveCheckpoint(ToCheckpoint(state), path));
}

void Network::Load(const std::string& path) {
  auto checkpoint = LoadCheckpoint(path);
  if (!checkpoint.ok()) Throw(std::move(checkpoint).status().While(fmt::format("loading '{}' into the network", path)));
  if (impl_->runner != nullptr) return impl_->LoadInto(*checkpoint, path);
  impl_->pending = std::move(checkpoint).value();
  impl_->pending_path = path;
}

void Network::Prepare(DType dtype, const Shape& sample) {
  impl_->Prepare(static_cast<tenon::DType>(dtype), ToShape(sample), nullptr);
  Check(impl_->runner->Prepare(impl_->AnyBatch()));
}

}  // namespace tenon::api

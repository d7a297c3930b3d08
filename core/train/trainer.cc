#include "core/train/trainer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/base/log.h"
#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/passes/pass.h"
#include "core/platform/atomic_file.h"
#include "core/platform/process.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/evaluation.h"
#include "core/train/event_file.h"
#include "core/train/loss.h"
#include "core/train/metrics_file.h"
#include "core/train/network.h"
#include "core/train/progress.h"
#include "core/train/run_folder.h"
#include "core/train/schedule.h"
#include "core/train/step_runner.h"
#include "core/train/step_times.h"
#include "core/train/stop_signal.h"

namespace tenon {
namespace {

double Milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

double PeakRssMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// A data file, output folder or checkpoint that cannot be used is wrong input, whatever the system calls the cause; a full
// disk or memory is a failure.
Status AsInputError(Status status) {
  if (status.ok() || status.code() == Code::kResourceExhausted || status.code() == Code::kUnavailable) return status;
  Status input(Code::kInvalidArgument, status.message());
  input = std::move(input).At(status.location());
  for (const std::string& doing : status.context()) input = std::move(input).While(doing);
  return input;
}

class TrainingRun {
 public:
  explicit TrainingRun(const TrainerOptions& options) : options_(options), config_(options.config) {}

  TrainerResult Go() {
    result_.status = Run();
    Finish();
    return std::move(result_);
  }

 private:
  Status Run();
  Status Open();
  Status OpenInputs();
  Status CheckNetwork();
  Status OpenFolder();
  CheckpointFolder MakeCheckpointFolder() const;
  Status OpenRunner();
  Status OpenRecords();
  Status Resume();
  Status LoadInto(const Checkpoint& checkpoint, const std::string& path);
  Status TrainEpochs();
  Status TrainEpoch();
  Status Step(const Batch& batch);
  Status Evaluate();
  Status Save();
  Status DryRun();
  void Finish();
  void FillSummary();
  std::string ResumeHint() const;
  std::string Position() const { return fmt::format("{}_{}", epoch_, step_in_epoch_); }
  bool Stopped() const { return stop_.received() != 0 || global_step_ >= total_steps_; }

  const TrainerOptions& options_;
  const RunConfig& config_;
  TrainerResult result_;
  StopSignal stop_;
  std::int64_t started_ns_ = MonotonicNs();

  std::optional<RunFolder> folder_;
  std::optional<DataSource> data_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::optional<Network> network_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Loader> train_loader_, test_loader_;
  std::optional<CheckpointFolder> checkpoints_;
  MetricsFile metrics_;
  EventFile events_;
  Progress progress_{stdout};
  StepTimes step_times_;

  std::int64_t total_steps_ = 0, per_epoch_ = 0;
  std::int64_t epoch_ = 1, step_in_epoch_ = 0, global_step_ = 0;  // epoch from 1; steps done
  double loss_sum_ = 0;                                           // of the epoch, weighted by samples
  std::int64_t loss_samples_ = 0;
  double learning_rate_ = 0;
  double interval_loss_ = 0;
  std::int64_t interval_steps_ = 0, interval_ns_ = 0;
  std::int64_t samples_ = 0, train_ns_ = 0;
  std::string last_saved_;
  bool recording_ = false;  // the folder holds this run, so that summary.json is its to write
};

Status TrainingRun::Run() {
  TENON_TRY(Open());
  if (options_.dry_run) return DryRun();
  TENON_TRY(TrainEpochs());
  return {};
}

// Everything that can be wrong with the configuration is found before the output folder is touched.
Status TrainingRun::Open() {
  if (config_.fallback != FallbackPolicy::kForbid)
    return InvalidArgument(
               "Only 'fallback: forbid' can be chosen: a run uses one device, and nodes do not move to another.")
        .At(PlaceOf(config_.source, "fallback").ToString());
  LogOptions log;
  TENON_ASSIGN(log.level, ParseLogLevel(config_.log.level));
  log.file_level = log.level;
  log.level = std::max(log.level, LogLevel::kWarning);  // the screen belongs to the progress; the file has the rest
  TENON_ASSIGN(network_, Network::Make(config_.network));
  Status disabled = passes::CheckDisabled(config_.passes.disabled);
  if (!disabled.ok()) return std::move(disabled).At(PlaceOf(config_.source, "passes.disabled").ToString());
  Status inputs = OpenInputs();
  if (!inputs.ok()) return AsInputError(std::move(inputs)).At(PlaceOf(config_.source, "data").ToString());
  TENON_TRY(CheckNetwork());
  exec::RuntimeOptions runtime;
  runtime.plugins = config_.plugins;
  runtime.plugin_dirs = options_.plugin_dirs;
  runtime.device = config_.device;
  runtime.threads = static_cast<int>(config_.threads);
  auto opened = exec::Runtime::Open(runtime);
  if (!opened.ok())
    return std::move(opened)
        .status()
        .At(PlaceOf(config_.source, "device").ToString())
        .While("opening the device of the run");
  runtime_ = std::move(opened).value();
  if (!options_.dry_run) {
    Status folder = OpenFolder();
    if (!folder.ok()) return AsInputError(std::move(folder));
    log.file = folder_->File("log.txt");
  }
  TENON_TRY(ConfigureLog(log));
  TENON_LOG(kInfo, "train", "{}", data_->description());
  TENON_TRY(OpenRunner());
  if (options_.resume) {
    Status resumed = Resume();
    if (!resumed.ok()) return AsInputError(std::move(resumed));
  }
  return folder_ ? OpenRecords() : Status();
}

Status TrainingRun::OpenInputs() {
  OpenDataOptions options;
  options.seed = static_cast<std::uint64_t>(config_.seed);
  options.csv_label = std::holds_alternative<MseConfig>(config_.loss) ? LabelKind::kValue : LabelKind::kClass;
  TENON_ASSIGN(data_, OpenData(config_.data, options));
  TENON_ASSIGN(train_loader_, data_->TrainLoader());
  if (data_->has_test()) {
    TENON_ASSIGN(test_loader_, data_->TestLoader());
  }
  per_epoch_ = train_loader_->steps_per_epoch();
  total_steps_ = config_.train.epochs * per_epoch_;
  if (config_.train.steps) total_steps_ = std::min(total_steps_, *config_.train.steps);
  return {};
}

Shape WithBatch(std::int64_t batch, const Shape& sample) {
  Shape shape{batch};
  for (const std::int64_t dim : sample.dims()) shape.push_back(dim);
  return shape;
}

// Parameters that this machine cannot hold are refused before it starts to swap.
Status CheckRoom(const Network::Build& build) {
  double needed = 0;
  for (const auto& entry : build.initial) needed += 4.0 * static_cast<double>(entry.second.shape.elements());
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  TENON_INVALID_IF(needed > there, "The network's parameters need {:.1f} GB; this machine has {:.1f} GB of memory.",
                   needed * 1e-9, there * 1e-9);
  return {};
}

// Network and loss over a first batch: shapes, labels, and classes that the network does not have.
Status TrainingRun::CheckNetwork() {
  graph::Graph graph;
  const SampleLayout& layout = data_->layout();
  const std::int64_t batch = std::min(config_.data.batch, data_->train_size());
  const graph::ValueId input = graph.AddInput("input", {layout.dtype, SymShape(WithBatch(batch, layout.shape))});
  const graph::ValueId labels =
      graph.AddInput("labels", {layout.label_dtype, SymShape(WithBatch(batch, layout.label_shape))});
  TENON_ASSIGN_WHILE(const Network::Build build, network_->AddTo(graph, input, false),
                     "building the network for samples {}{}", NameOf(layout.dtype), layout.shape);
  auto loss = AddLoss(config_.loss, graph, build.output, labels);
  if (!loss.ok()) return std::move(loss).status().At(network_->place_of_output());
  Status room = CheckRoom(build);
  if (!room.ok()) return std::move(room).At(config_.network.place.ToString());
  if (build.parameters.empty())
    return InvalidArgument("The network has nothing to train: no layer of it has a parameter.")
        .At(config_.network.place.ToString());
  if (!std::holds_alternative<SoftmaxCrossEntropyConfig>(config_.loss) || layout.label_kind != LabelKind::kClass)
    return {};
  const SymShape& output = graph.value(build.output).type.shape;
  const int class_axis = ClassAxis(output, graph.value(labels).type.shape);
  TENON_TRY_WHILE(data_->CheckClasses(output[class_axis].value()),
                  "comparing the labels with the network's output {} ({})", graph.value(build.output).type.ToString(),
                  network_->place_of_output());
  return {};
}

CheckpointFolder TrainingRun::MakeCheckpointFolder() const {
  const auto format =
      config_.checkpoint.format == "safetensors" ? CheckpointFormat::kSafetensors : CheckpointFormat::kCkpt;
  return CheckpointFolder(config_.output.resolved.string() + "/checkpoints", config_.name, format,
                          config_.checkpoint.keep);
}

Status TrainingRun::OpenFolder() {
  const std::string path = config_.output.resolved.string();
  checkpoints_.emplace(MakeCheckpointFolder());
  const bool to_find = options_.resume && options_.resume_from.empty();
  std::error_code ignored;
  if (to_find && !std::filesystem::exists(path, ignored))
    return Error(Code::kNotFound, "There is no run in '{}' to resume: the folder does not exist.", path);
  TENON_ASSIGN(folder_, RunFolder::Open(path, options_.resume));
  if (!folder_->moved_to().empty()) {
    result_.summary.warnings.push_back(
        fmt::format("The earlier run in '{}' was renamed to '{}'.", folder_->path(), folder_->moved_to()));
    progress_.Line(result_.summary.warnings.back());
  }
  return {};
}

Status TrainingRun::OpenRunner() {
  StepRunnerOptions options;
  options.config = &config_;
  options.layout = data_->layout();
  if (folder_) options.graphs_folder = folder_->File("graphs");
  TENON_ASSIGN(runner_, config_.mode == RunMode::kGraph ? MakeGraphRunner(*runtime_, *network_, options)
                                                        : MakeEagerRunner(*runtime_, *network_, options));
  return {};
}

// Nothing of an earlier run is written over before its checkpoint has been taken.
Status TrainingRun::OpenRecords() {
  const auto resumed = options_.resume ? std::optional(global_step_) : std::nullopt;
  Status written = WriteFileAtomically(folder_->File("config.yaml"), PrintRunConfig(config_));
  if (!written.ok()) return AsInputError(std::move(written));
  recording_ = true;
  TENON_ASSIGN(metrics_, MetricsFile::Open(folder_->File("metrics.jsonl"), resumed));
  TENON_ASSIGN(events_, EventFile::Create(folder_->path(), resumed));
  return {};
}

Status TrainingRun::Resume() {
  std::string path = options_.resume_from;
  Checkpoint checkpoint;
  if (path.empty()) {
    TENON_ASSIGN_WHILE(FoundCheckpoint found, MakeCheckpointFolder().FindLatest(),
                       "looking for a checkpoint to go on from");
    path = found.file.path;
    checkpoint = std::move(found.checkpoint);
  } else {
    TENON_ASSIGN(checkpoint, LoadCheckpoint(path));
  }
  TENON_TRY_WHILE(LoadInto(checkpoint, path), "resuming from '{}'", path);
  progress_.Line(fmt::format("Resumed from {}: epoch {}, step {} of {}.", path, epoch_, step_in_epoch_, per_epoch_));
  return {};
}

Status TrainingRun::LoadInto(const Checkpoint& checkpoint, const std::string& path) {
  TENON_ASSIGN(const RunState state, ReadRunScalars(checkpoint));
  TENON_INVALID_IF(state.seed != config_.seed,
                   "The checkpoint is of a run with seed {}; this run has seed {}: its batches would differ.",
                   state.seed, config_.seed);
  for (const NamedTensor& extra : state.extra) {
    if (extra.name != "train.batch" || extra.tensor.dtype() != DType::kI64) continue;
    const std::int64_t batch = extra.tensor.data<std::int64_t>()[0];
    TENON_INVALID_IF(batch != config_.data.batch,
                     "The checkpoint is of a run with a batch of {} samples; this run has {}: its place in "
                     "the epoch would be another.",
                     batch, config_.data.batch);
  }
  epoch_ = std::max<std::int64_t>(state.epoch, 1);
  step_in_epoch_ = state.step_in_epoch;
  global_step_ = state.global_step;
  learning_rate_ = state.learning_rate;
  last_saved_ = Position();
  for (const NamedTensor& extra : state.extra) {
    if (extra.name == "train.loss_sum" && extra.tensor.dtype() == DType::kF64)
      loss_sum_ = extra.tensor.data<double>()[0];
    if (extra.name == "train.loss_samples" && extra.tensor.dtype() == DType::kI64)
      loss_samples_ = extra.tensor.data<std::int64_t>()[0];
  }
  TENON_INVALID_IF(step_in_epoch_ > per_epoch_,
                   "The checkpoint stands after step {} of an epoch; an epoch of this run has {} steps.",
                   step_in_epoch_, per_epoch_);
  TENON_TRY(train_loader_->Start(0));
  TENON_ASSIGN(const Batch* like, train_loader_->Next());
  TENON_TRY(runner_->Prepare(*like));
  std::vector<TensorTarget> targets;
  for (const auto& names : {runner_->ParameterNames(), runner_->OptimizerStateNames()}) {
    for (const std::string& name : names) {
      const auto* variable = runner_->variables().Find(name);
      targets.push_back({name, variable->dtype, variable->shape});
    }
  }
  MatchOptions match;
  match.lenient = options_.lenient;
  match.ignore = [](const std::string& name) { return IsRunScalarName(name); };
  TENON_ASSIGN(const MatchReport report, MatchTensors(checkpoint, targets, match));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (report.tensors[i] != nullptr) TENON_TRY(runner_->variables().Set(targets[i].name, *report.tensors[i]));
  }
  if (!report.complete()) {
    result_.summary.warnings.push_back(fmt::format("{}: {}", path, report.Counts()));
    TENON_LOG(kWarning, "train", "{}", result_.summary.warnings.back());
  }
  return {};
}

Status TrainingRun::TrainEpochs() {
  // A checkpoint at the end of an epoch stands at the start of the next one.
  if (step_in_epoch_ >= per_epoch_ && global_step_ < total_steps_) {
    ++epoch_;
    step_in_epoch_ = 0;
    loss_sum_ = 0;
    loss_samples_ = 0;
  }
  while (!Stopped() && epoch_ <= config_.train.epochs) {
    TENON_TRY_WHILE(TrainEpoch(), "training epoch {} of {}", epoch_, config_.train.epochs);
    if (step_in_epoch_ < per_epoch_) break;  // stopped in mid-epoch
    result_.summary.train_loss.push_back(loss_sum_ / static_cast<double>(std::max<std::int64_t>(loss_samples_, 1)));
    ++result_.summary.epochs;
    const bool last = Stopped() || epoch_ == config_.train.epochs;
    const bool due = config_.eval.every > 0 && epoch_ % config_.eval.every == 0;
    if (test_loader_ && stop_.received() == 0 && (last || due))
      TENON_TRY_WHILE(Evaluate(), "evaluating after epoch {}", epoch_);
    const bool save =
        !config_.checkpoint.steps && config_.checkpoint.every > 0 && epoch_ % config_.checkpoint.every == 0;
    if (save || last) TENON_TRY(Save());
    if (last) break;
    ++epoch_;
    step_in_epoch_ = 0;
    loss_sum_ = 0;
    loss_samples_ = 0;
  }
  // Ended in mid-epoch, or resumed at the end of a finished run.
  const bool unmeasured = step_in_epoch_ < per_epoch_ || !result_.summary.test_loss;
  if (unmeasured && stop_.received() == 0 && test_loader_)
    TENON_TRY_WHILE(Evaluate(), "evaluating after step {}", global_step_);
  return Save();
}

Status TrainingRun::TrainEpoch() {
  TENON_TRY(train_loader_->Start(epoch_ - 1, step_in_epoch_));
  while (!Stopped()) {
    TENON_ASSIGN(const Batch* batch, train_loader_->Next());
    if (batch == nullptr) break;
    TENON_TRY(Step(*batch));
    if (config_.checkpoint.steps && global_step_ % *config_.checkpoint.steps == 0) TENON_TRY(Save());
  }
  return {};
}

Status TrainingRun::Step(const Batch& batch) {
  const std::int64_t begin = MonotonicNs();
  learning_rate_ =
      LearningRateAt(config_.schedule, LearningRate(config_.optimizer), global_step_, total_steps_, per_epoch_);
  TENON_ASSIGN(const double loss, runner_->Train(batch, learning_rate_, global_step_));
  const std::int64_t took = MonotonicNs() - begin;
  const bool first = !result_.summary.first_step_ms;
  if (first) {
    result_.summary.first_step_ms = Milliseconds(MonotonicNs() - started_ns_);
  } else {  // the first step compiles
    step_times_.Add(Milliseconds(took));
    train_ns_ += took;
    samples_ += batch.count;
  }
  ++global_step_;
  ++step_in_epoch_;
  loss_sum_ += loss * static_cast<double>(batch.count);
  loss_samples_ += batch.count;
  interval_loss_ += loss;
  ++interval_steps_;
  interval_ns_ += took;
  if (progress_.Due()) {
    const double rate = train_ns_ > 0 ? static_cast<double>(samples_) / (static_cast<double>(train_ns_) * 1e-9) : 0;
    progress_.Show({epoch_, config_.train.epochs, step_in_epoch_, per_epoch_, loss, learning_rate_, rate});
  }
  if (config_.log.every > 0 && global_step_ % config_.log.every == 0) {
    const double steps = static_cast<double>(interval_steps_);
    TENON_TRY(metrics_.WriteStep(global_step_, epoch_, interval_loss_ / steps, learning_rate_,
                                 Milliseconds(interval_ns_) / steps));
    TENON_TRY(events_.AddScalar(global_step_, "train/loss", interval_loss_ / steps));
    TENON_TRY(events_.AddScalar(global_step_, "train/learning_rate", learning_rate_));
    interval_loss_ = 0;
    interval_steps_ = 0;
    interval_ns_ = 0;
  }
  return {};
}

Status TrainingRun::Evaluate() {
  std::vector<std::string> wanted = config_.eval.metrics;
  if (data_->layout().label_kind != LabelKind::kClass) std::erase(wanted, "accuracy");
  TENON_ASSIGN(const auto values, EvaluateAll(*runner_, *test_loader_, wanted));
  std::vector<std::string> names;
  std::vector<Metric> metrics;
  names.reserve(values.size());
  std::string line = fmt::format("epoch {}/{}", epoch_, config_.train.epochs);
  if (loss_samples_ > 0) line += fmt::format("  train loss {:.4f}", loss_sum_ / static_cast<double>(loss_samples_));
  for (const auto& value : values) {
    names.push_back("test_" + value.first);
    metrics.push_back({names.back(), value.second});
    line += fmt::format("  test {} {:.4f}", value.first, value.second);
    TENON_TRY(events_.AddScalar(global_step_, "test/" + value.first, value.second));
    result_.summary.test_metrics[value.first] = value.second;
    if (value.first == "loss") result_.summary.test_loss = value.second;
    if (value.first == "accuracy") result_.summary.test_accuracy = value.second;
  }
  TENON_TRY(metrics_.WriteEvaluation(global_step_, epoch_, metrics));
  progress_.Line(line);
  TENON_LOG(kInfo, "train", "{}", line);
  return {};
}

Status TrainingRun::Save() {
  const bool wanted = config_.checkpoint.every > 0 || config_.checkpoint.steps;
  if (!wanted || global_step_ == 0 || Position() == last_saved_) return {};
  RunState state;
  for (const std::string& name : runner_->ParameterNames()) {
    TENON_ASSIGN(Tensor value, runner_->variables().Get(name));
    state.parameters.push_back({name, std::move(value)});
  }
  for (const std::string& name : runner_->OptimizerStateNames()) {
    TENON_ASSIGN(Tensor value, runner_->variables().Get(name));
    state.optimizer_state.push_back({name, std::move(value)});
  }
  state.epoch = epoch_;
  state.step_in_epoch = step_in_epoch_;
  state.global_step = global_step_;
  state.seed = config_.seed;
  state.learning_rate = learning_rate_;
  if (const auto* sgd = std::get_if<SgdConfig>(&config_.optimizer); sgd != nullptr && sgd->momentum != 0)
    state.momentum = sgd->momentum;
  state.extra.push_back({"train.batch", Tensor::Scalar(config_.data.batch)});
  state.extra.push_back({"train.loss_sum", Tensor::Scalar(loss_sum_)});
  state.extra.push_back({"train.loss_samples", Tensor::Scalar(loss_samples_)});
  TENON_ASSIGN_WHILE(const std::string path, checkpoints_->Save(state), "saving a checkpoint after step {}",
                     global_step_);
  last_saved_ = Position();
  TENON_LOG(kInfo, "train", "saved {}", path);
  return {};
}

Status TrainingRun::DryRun() {
  TENON_TRY(train_loader_->Start(0));
  TENON_ASSIGN(const Batch* batch, train_loader_->Next());
  TENON_TRY_WHILE(runner_->Prepare(*batch), "planning the training step");
  RunSummary& summary = result_.summary;
  runner_->AddTo(summary);
  std::int64_t parameters = 0;
  for (const std::string& name : runner_->ParameterNames())
    parameters += runner_->variables().Find(name)->shape.elements();
  progress_.Line(data_->description());
  progress_.Line(fmt::format(
      "{} parameters, {} steps an epoch, {} steps in all; device {} ({}); plan {:.2f} MB, variables {:.2f} MB",
      parameters, per_epoch_, total_steps_, config_.device, runtime_->device().name(), summary.plan_mb.value_or(0),
      static_cast<double>(runner_->variables().bytes()) / (1 << 20)));
  for (const auto& kernel : summary.kernels)
    progress_.Line(
        fmt::format("  {}: {} fast, {} reference", kernel.first, kernel.second.fast, kernel.second.reference));
  for (const auto& fusion : summary.fusions)
    progress_.Line(fmt::format("  fusion {}: {}", fusion.first, fusion.second));
  progress_.Line("Dry run: nothing was trained.");
  return {};
}

std::string TrainingRun::ResumeHint() const {
  const std::string file = config_.source.place().origin ? config_.source.place().origin->name : std::string("CONFIG");
  return fmt::format("Go on with: tenon train {} --output {} --resume", file,
                     folder_ ? folder_->path() : config_.output.text);
}

void TrainingRun::FillSummary() {
  RunSummary& summary = result_.summary;
  summary.seed = config_.seed;
  summary.device = config_.device;
  summary.mode = config_.mode == RunMode::kGraph ? "graph" : "pynative";
  summary.threads = runtime_ ? runtime_->threads() : config_.threads;
  summary.steps = global_step_;
  if (train_ns_ > 0) summary.samples_per_s = static_cast<double>(samples_) / (static_cast<double>(train_ns_) * 1e-9);
  summary.step_ms.p50 = step_times_.Quantile(0.5);
  summary.step_ms.p99 = step_times_.Quantile(0.99);
  if (train_loader_ && train_loader_->stats().batches > 0)
    summary.step_ms.data_wait =
        Milliseconds(train_loader_->stats().wait_ns) / static_cast<double>(train_loader_->stats().batches);
  summary.peak_rss_mb = PeakRssMb();
  if (!runtime_) return;
  exec::Runtime& runtime = *runtime_;
  summary.device_peak_mb = static_cast<double>(runtime.device().peak_bytes()) / (1 << 20);
  const CopyCounts& copies = runtime.device().copies();
  if (copies.to_device > 0)
    summary.copies.push_back(
        {"host", config_.device, copies.to_device, static_cast<double>(copies.to_device_bytes) / (1 << 20)});
  if (copies.to_host > 0)
    summary.copies.push_back(
        {config_.device, "host", copies.to_host, static_cast<double>(copies.to_host_bytes) / (1 << 20)});
  for (const Plugin* plugin : runtime.registry().plugins())
    summary.plugins.push_back({plugin->id(), plugin->version(), plugin->library().path()});
  for (const std::string& warning : runtime.registry().warnings()) summary.warnings.push_back(warning);
  if (!runner_) return;
  runner_->AddTo(summary);
  std::vector<NamedTensor> parameters;
  for (const std::string& name : runner_->ParameterNames()) {
    if (auto value = runner_->variables().Get(name); value.ok()) parameters.push_back({name, std::move(value).value()});
  }
  summary.weights_sha256 = WeightsSha256(parameters);
}

void TrainingRun::Finish() {
  RunSummary& summary = result_.summary;
  result_.signal = stop_.received();
  FillSummary();
  if (!result_.status.ok()) {
    summary.status = "failed";
    summary.reason = result_.status.ToString();
  } else if (result_.signal != 0) {
    summary.status = "interrupted";
    summary.reason = fmt::format("signal {}", result_.signal);
    progress_.Line(fmt::format("Stopped by signal {} after step {}. {}", result_.signal, global_step_, ResumeHint()));
  }
  FlushLog();
  if (recording_) {
    const Status written = WriteRunSummary(summary, folder_->File("summary.json"));
    if (!written.ok() && result_.status.ok()) result_.status = written;
  }
  runner_.reset();
  runtime_.reset();
}

}  // namespace

TrainerResult Train(const TrainerOptions& options) { return TrainingRun(options).Go(); }

}  // namespace tenon

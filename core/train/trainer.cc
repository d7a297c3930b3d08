#include "core/train/trainer.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "core/base/log.h"
#include "core/passes/pass.h"
#include "core/platform/atomic_file.h"
#include "core/platform/process.h"
#include "core/train/evaluation.h"
#include "core/train/fallback_report.h"
#include "core/train/gradient_hook.h"
#include "core/train/loss.h"
#include "core/train/rank_checkpoint.h"
#include "core/train/run_report.h"
#include "core/train/schedule.h"
#include "core/train/training_run.h"
#include "core/train/vocabulary_state.h"

namespace tenon {
namespace {

// A data file, output folder or checkpoint that cannot be used is wrong input, whatever the system calls the cause; a full
// disk or memory is a failure.
Status AsInputError(Status status) {
  if (status.ok() || status.code() == Code::kResourceExhausted || status.code() == Code::kUnavailable) return status;
  Status input(Code::kInvalidArgument, status.message());
  input = std::move(input).At(status.location());
  for (const std::string& doing : status.context()) input = std::move(input).While(doing);
  return input;
}

}  // namespace

Status TrainingRun::Run() {
  AddConfig(&result_.summary, config_);
  if (!rank_.ok()) return rank_.status();
  result_.summary.rank = rank_->rank;
  result_.summary.world_size = rank_->size;
  TENON_TRY(Open());
  if (options_.dry_run) return DryRun();
  TENON_TRY(TrainEpochs());
  return Interrupted() ? Status() : CheckTrained(at_.global_step, scaler_);
}

// Everything that can be wrong with the configuration is found before the output folder is touched.
Status TrainingRun::Open() {
  TENON_TRY(CheckConfig());
  TENON_TRY(profile_.Check(/*folder_open=*/false));
  TENON_TRY(OpenDevice());
  TENON_ASSIGN(network_, Network::Make(config_.network, runtime_->ops()));
  if (rank_->many() && config_.parallel.sync_batch_norm) network_->SyncBatchNorm();
  network_->SetLongest(LongestOf(config_.data));
  Status inputs = OpenInputs();
  if (!inputs.ok()) return AsInputError(std::move(inputs)).At(PlaceOf(config_.source, "data").ToString());
  TENON_ASSIGN(facts_,
               CheckRun(config_, *network_, *data_, *train_loader_, {validation_loader_.get(), test_loader_.get()}));
  AddPlan(&result_.summary, facts_.plan);
  TENON_TRY(CheckEarlyStop());
  if (config_.init_from && !options_.resume) {
    auto values = LoadFirstValues(*config_.init_from, facts_.variables, &result_.summary);
    if (!values.ok())
      return AsInputError(std::move(values).status()).At(PlaceOf(config_.source, "init_from").ToString());
    first_values_ = std::move(values).value();
  }
  if (!options_.dry_run) TENON_TRY(JoinRanks());
  LogOptions log;
  TENON_ASSIGN(log.file_level, ParseLogLevel(config_.log.level));
  log.level =
      std::max(log.file_level, LogLevel::kWarning);  // the screen belongs to the progress; the file has the rest
  if (!options_.dry_run) {
    Status folder = OpenFolder();
    if (!folder.ok()) return AsInputError(std::move(folder));
    log.file = folder_->File("log.txt");
    TENON_TRY(profile_.Check(/*folder_open=*/true));
  }
  TENON_TRY(ConfigureLog(log));
  TENON_LOG(kInfo, "train", "{}", data_->description());
  OpenRunner();
  profile_.Start(*runtime_);
  scaler_ = LossScaler(config_.amp);
  if (options_.resume) {
    Status resumed = Resume();
    if (!resumed.ok()) return AsInputError(std::move(resumed));
  }
  if (ranks_) TENON_TRY(ShareStart());
  return folder_ ? OpenRecords() : Status();
}

Status TrainingRun::CheckConfig() {
  Status disabled = passes::CheckDisabled(config_.passes.disabled);
  if (!disabled.ok()) return std::move(disabled).At(PlaceOf(config_.source, "passes.disabled").ToString());
  Status threads = exec::CheckThreads(static_cast<int>(config_.threads));
  if (!threads.ok()) return std::move(threads).At(PlaceOf(config_.source, "threads").ToString());
  return {};
}

Status TrainingRun::OpenInputs() {
  OpenDataOptions options;
  options.seed = static_cast<std::uint64_t>(config_.seed);
  options.rank = rank_->rank;
  options.ranks = rank_->size;
  const auto& transforms = config_.data.transforms;
  const bool one_hot = std::any_of(transforms.begin(), transforms.end(), [](const TransformConfig& transform) {
    return std::holds_alternative<OneHotConfig>(transform);
  });
  options.csv_label = ComparesValues(config_.loss) && !one_hot ? LabelKind::kValue : LabelKind::kClass;
  options.ignored_label = IgnoredLabel(config_.loss);
  TENON_ASSIGN(data_, OpenData(config_.data, options));
  TENON_ASSIGN(train_loader_, data_->TrainLoader());
  if (data_->has_validation()) {
    TENON_ASSIGN(validation_loader_, data_->ValidationLoader());
  }
  if (data_->has_test()) {
    TENON_ASSIGN(test_loader_, data_->TestLoader());
  }
  groups_ = StepGroups(*train_loader_, config_.train.accumulate);
  per_epoch_ = groups_.steps_per_epoch();
  total_steps_ = config_.train.epochs * per_epoch_;
  if (config_.train.steps) total_steps_ = std::min(total_steps_, *config_.train.steps);
  return {};
}

Status TrainingRun::CheckEarlyStop() {
  if (!config_.train.early_stop) return {};
  early_stop_.emplace(*config_.train.early_stop);
  if (!validation_loader_ && !test_loader_)
    return InvalidArgument("'train.early_stop' needs samples to evaluate on; 'data.split' or 'data.test' makes some.")
        .At(PlaceOf(config_.source, "train.early_stop").ToString());
  const auto& measured = facts_.metrics.names;
  if (std::find(measured.begin(), measured.end(), early_stop_->metric()) != measured.end()) return {};
  return InvalidArgument("'train.early_stop.metric' is '{}', which does not go with labels that are values.",
                         early_stop_->metric())
      .At(PlaceOf(config_.source, "train.early_stop.metric").ToString());
}

Status TrainingRun::OpenDevice() {
  exec::RuntimeOptions runtime;
  runtime.plugins = config_.plugins;
  runtime.plugin_dirs = options_.plugin_dirs;
  runtime.device = config_.device;
  runtime.local_rank = rank_->local_rank;
  runtime.threads = static_cast<int>(config_.threads);
  if (runtime.threads == 0)  // all cores, which the processes of this node share
    runtime.threads = std::max(1, UsableCores() / static_cast<int>(rank_->local_size));
  runtime.math_high = config_.math == MathMode::kHigh;
  runtime.host_fallback = config_.fallback != FallbackPolicy::kForbid;
  auto opened = exec::Runtime::Open(runtime);
  if (!opened.ok())
    return std::move(opened)
        .status()
        .At(PlaceOf(config_.source, "device").ToString())
        .While("opening the device of the run");
  runtime_ = std::move(opened).value();
  if (config_.math == MathMode::kHigh && !runtime_->target().catalog().HasMathHigh())
    return Error(Code::kUnavailable,
                 "No plugin has kernels for device '{}' that 'math: high' changes. 'math: exact' is the default.",
                 config_.device)
        .At(PlaceOf(config_.source, "math").ToString());
  return {};
}

Status TrainingRun::JoinRanks() {
  if (rank_->size == 1) return {};
  progress_.Line(fmt::format("{}", Describe(*rank_)));
  TENON_ASSIGN(ranks_, RunRanks::Join(*rank_, config_, *data_, *runtime_, options_.join));
  watch_.emplace(*ranks_, config_.parallel.straggler_every);
  if (config_.parallel.sync.every > 1) local_.emplace(config_.parallel.sync.every);
  return {};
}

// All ranks begin with the values of the first.
Status TrainingRun::ShareStart() {
  if (!options_.resume) TENON_TRY(PrepareRunner());
  return ranks_->ShareVariables(runner_->variables());
}

// Running statistics are those of a rank's own batches until something is measured or saved: then they are averaged.
Status TrainingRun::SettleVariables() {
  if (!ranks_) return {};
  if (local_) return MeetRanks();
  std::vector<std::string> names;
  for (const std::string& name : runner_->ParameterNames()) {
    const auto* variable = runner_->variables().Find(name);
    if (variable != nullptr && !variable->trained) names.push_back(name);
  }
  return ranks_->AverageVariables(runner_->variables(), names);
}

// Ranks that update alone become equal again, and learn what the others have seen.
Status TrainingRun::MeetRanks() {
  TENON_ASSIGN(const LocalSteps::Seen seen, local_->Meet(*ranks_, *runner_, stop_.received() != 0, at_.global_step));
  told_to_stop_ = told_to_stop_ || seen.stop > 0;
  at_.loss_sum += seen.loss;
  at_.loss_weight += seen.weight;
  return {};
}

std::int64_t TrainingRun::Skipped() const {
  std::int64_t skipped = 0;
  for (const auto* loader : {train_loader_.get(), validation_loader_.get(), test_loader_.get()})
    skipped += loader ? loader->stats().skipped : 0;
  return skipped;
}

// A sample that cannot be read is met by one rank, and the run has skipped it.
Status TrainingRun::SumSkipped() {
  TENON_ASSIGN(const double skipped, ranks_->Sum(static_cast<double>(Skipped())));
  skipped_of_all_ = static_cast<std::int64_t>(skipped);
  return {};
}

// The first cause of any rank, where one has failed.
Status TrainingRun::EndRanks(Status status) {
  if (status.ok()) status = watch_->AddTo(&result_.summary);
  if (status.ok()) status = SumSkipped();
  if (status.ok()) status = ranks_->Leave();
  return status.ok() ? status : ranks_->Fail(status);
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
  if (to_find && rank_->rank == 0 && !std::filesystem::exists(path, ignored))
    return Error(Code::kNotFound, "There is no run in '{}' to resume: the folder does not exist.", path);
  TENON_ASSIGN(folder_, ranks_ ? RunFolder::Open(path, options_.resume, ranks_->host())
                               : RunFolder::Open(path, options_.resume));
  if (!folder_->moved_to().empty()) {
    result_.summary.warnings.push_back(
        fmt::format("The earlier run in '{}' was renamed to '{}'.", folder_->path(), folder_->moved_to()));
    progress_.Line(result_.summary.warnings.back());
  }
  return {};
}

void TrainingRun::OpenRunner() {
  StepRunnerOptions options;
  options.config = &config_;
  options.layout = data_->layout();
  options.first_values = &first_values_;
  if (folder_) options.graphs_folder = folder_->File("graphs");
  if (ranks_ && !local_) options.exchange = &ranks_->gradients();
  runner_ = MakeStepRunner(*runtime_, *network_, options);
}

// Nothing of an earlier run is written over before its checkpoint has been taken.
Status TrainingRun::OpenRecords() {
  recording_ = rank_->rank > 0;
  if (recording_) return {};  // the first rank writes for all
  const auto resumed = options_.resume ? std::optional(at_.global_step) : std::nullopt;
  Status written = WriteFileAtomically(folder_->File("config.yaml"), PrintRunConfig(config_));
  if (!written.ok()) return AsInputError(std::move(written));
  recording_ = true;
  if (const Vocabulary* vocabulary = data_->vocabulary())
    TENON_TRY(WriteFileAtomically(folder_->File("vocabulary.txt"), vocabulary->ToText()));
  TENON_ASSIGN(metrics_, MetricsFile::Open(folder_->File("metrics.jsonl"), resumed));
  TENON_ASSIGN(events_, EventFile::Create(folder_->path(), resumed));
  return {};
}

Status TrainingRun::Resume() {
  TENON_ASSIGN(const FoundCheckpoint found, LoadForAll(MakeCheckpointFolder(), options_.resume_from, ranks_.get()));
  const std::string& path = found.file.path;
  TENON_TRY_WHILE(LoadInto(found.checkpoint, path), "resuming from '{}'", path);
  progress_.Line(
      fmt::format("Resumed from {}: epoch {}, step {} of {}.", path, at_.epoch, at_.step_in_epoch, per_epoch_));
  return {};
}

Status TrainingRun::LoadInto(const Checkpoint& checkpoint, const std::string& path) {
  TENON_ASSIGN(const RunState state, ReadRunScalars(checkpoint));
  TENON_ASSIGN(at_, PositionOf(config_, state, rank_->size));
  TENON_TRY(CheckVocabulary(state, data_->vocabulary()));
  TENON_INVALID_IF(at_.step_in_epoch > per_epoch_,
                   "The checkpoint stands after step {} of an epoch; an epoch of this run has {} steps.",
                   at_.step_in_epoch, per_epoch_);
  if (early_stop_) RestoreEarlyStop(state, &*early_stop_);
  TENON_TRY(RestoreScaler(state, &scaler_));
  last_saved_ = at_.Name();
  TENON_TRY(PrepareRunner());
  if (!options_.dry_run)
    TENON_TRY(RestoreHook(state, rank_->rank, rank_->size, ranks_ ? ranks_->power_sgd() : nullptr));
  TENON_ASSIGN(const MatchReport report, RestoreTensors(checkpoint, *runner_, options_.lenient));
  if (!report.complete()) {
    result_.summary.warnings.push_back(fmt::format("{}: {}", path, report.Counts()));
    TENON_LOG(kWarning, "train", "{}", result_.summary.warnings.back());
  }
  return {};
}

Status TrainingRun::PrepareRunner() {
  TENON_TRY(train_loader_->Start(0));
  TENON_ASSIGN(const Batch* like, train_loader_->Next());
  // One of several ranks may have no sample of the first step; what stands in for a missing batch must count something.
  const bool stands_in = rank_->many() && config_.parallel.sync_batch_norm;
  while (like != nullptr && (like->count == 0 || (stands_in && CountedWeight(config_.loss, like->labels) == 0))) {
    TENON_ASSIGN(like, train_loader_->Next());
  }
  if (like == nullptr) return InvalidArgument("No label of the training samples of rank {} counts.", rank_->rank);
  if (stands_in) {
    stand_in_ = *like;
    stand_in_.samples = like->samples.Clone();
    stand_in_.labels = like->labels.Clone();
  }
  return runner_->Prepare(*like);
}

// The validation part when it is due; without one the test part, which is else only looked at after the last epoch.
Status TrainingRun::EvaluateEpoch(bool last) {
  const bool due = config_.eval.every > 0 && at_.epoch % config_.eval.every == 0;
  if ((!last && !due) || Interrupted()) return {};
  TENON_TRY(SettleVariables());
  if (validation_loader_)
    TENON_TRY_WHILE(Evaluate(*validation_loader_, "validation"), "validating after epoch {}", at_.epoch);
  if (test_loader_ && (last || !validation_loader_))
    TENON_TRY_WHILE(Evaluate(*test_loader_, "test"), "evaluating after epoch {}", at_.epoch);
  if (!early_stop_) return {};
  const auto& values = validation_loader_ ? result_.summary.validation_metrics : result_.summary.test_metrics;
  early_stop_->Observe(values.at(early_stop_->metric()), at_.epoch);
  if (early_stop_->reached())
    progress_.Line(
        fmt::format("Early stop: {} was best in epoch {}.", early_stop_->metric(), early_stop_->state().best_epoch));
  return {};
}

Status TrainingRun::Evaluate(Loader& loader, const std::string& part) {
  const ActivityScope scope(profile_.log(), ActivityKind::kEvaluation);
  TENON_ASSIGN(const MetricSet set,
               EvaluateAll(*runner_, loader, config_.loss, facts_.metrics, ranks_ ? &ranks_->host() : nullptr));
  const auto values = set.Values();
  const bool test = part == "test";
  RunSummary& summary = result_.summary;
  std::vector<std::string> names;
  std::vector<Metric> metrics;
  names.reserve(values.size());
  std::string line = fmt::format("epoch {}/{}", at_.epoch, config_.train.epochs);
  if (const auto loss = at_.train_loss()) line += fmt::format("  train loss {:.4f}", *loss);
  for (const auto& value : values) {
    names.push_back(part + "_" + value.first);
    metrics.push_back({names.back(), value.second});
    line += fmt::format("  {} {} {:.4f}", part, value.first, value.second);
    TENON_TRY(events_.AddScalar(at_.global_step, part + "/" + value.first, value.second));
    (test ? summary.test_metrics : summary.validation_metrics)[value.first] = value.second;
    if (test && value.first == "loss") summary.test_loss = value.second;
    if (test && value.first == "accuracy") summary.test_accuracy = value.second;
  }
  const auto& wanted = facts_.metrics.names;
  if (test && std::find(wanted.begin(), wanted.end(), "confusion_matrix") != wanted.end()) {
    const ConfusionMatrix& matrix = set.matrix();
    if (rank_->rank == 0) TENON_TRY(WriteFileAtomically(folder_->File("confusion_matrix.csv"), matrix.ToCsv()));
    summary.confusion_matrix = {"confusion_matrix.csv", matrix.classes, matrix.samples(), matrix.right()};
  }
  TENON_TRY(metrics_.WriteEvaluation(at_.global_step, at_.epoch, metrics));
  progress_.Line(line);
  TENON_LOG(kInfo, "train", "{}", line);
  return {};
}

Status TrainingRun::Save() {
  const bool wanted = config_.checkpoint.every > 0 || config_.checkpoint.steps;
  if (!wanted || at_.global_step == 0 || at_.Name() == last_saved_) return {};
  TENON_TRY(SettleVariables());
  const ActivityScope scope(profile_.log(), ActivityKind::kCheckpoint);
  TENON_ASSIGN(RunState state,
               CaptureRun(config_, at_, *runner_, scaler_, early_stop_ ? &*early_stop_ : nullptr, rank_->size));
  if (ranks_) TENON_TRY(CaptureHook(ranks_->power_sgd(), ranks_->host(), &state));
  AddVocabulary(data_->vocabulary(), &state);
  TENON_ASSIGN_WHILE(const std::string path, SaveForAll(*checkpoints_, state, ranks_.get()),
                     "saving a checkpoint after step {}", at_.global_step);
  last_saved_ = at_.Name();
  if (!path.empty()) TENON_LOG(kInfo, "train", "saved {}", path);
  return {};
}

Status TrainingRun::DryRun() {
  TENON_TRY_WHILE(PrepareRunner(), "planning the training step");
  RunSummary summary = result_.summary;
  runner_->AddTo(summary);
  progress_.Line(data_->description());
  for (const std::string& line : DescribePlan(config_, summary, *runtime_, *runner_, per_epoch_, total_steps_))
    progress_.Line(line);
  progress_.Line("Dry run: nothing was trained.");
  return {};
}

std::string TrainingRun::ResumeHint() const {
  return DescribeGoingOn(options_.command, folder_ ? folder_->path() : config_.output.text, at_,
                         MakeCheckpointFolder().FindLatest());
}

void TrainingRun::FillDataWait(const LoaderStats& stats) {
  const double waited = Milliseconds(stats.wait_ns), all = Milliseconds(train_ns_);
  result_.summary.step_ms.data_wait = waited / static_cast<double>(stats.batches);
  if (all > 0) result_.summary.data_wait_share = std::min(1.0, waited / all);
}

void TrainingRun::FillSummary() {
  RunSummary& summary = result_.summary;
  summary.steps = at_.global_step;
  if (train_ns_ > 0) summary.samples_per_s = static_cast<double>(samples_) / (static_cast<double>(train_ns_) * 1e-9);
  summary.step_ms.p50 = step_times_.Quantile(0.5);
  summary.step_ms.p99 = step_times_.Quantile(0.99);
  if (train_loader_ && train_loader_->stats().batches > 0) FillDataWait(train_loader_->stats());
  summary.skipped_samples = skipped_of_all_.value_or(Skipped());
  summary.skipped_steps = scaler_.state().skipped_steps;
  if (scaler_.on()) summary.loss_scale = scaler_.scale();
  if (early_stop_) summary.early_stop = early_stop_->Summary();
  if (runtime_) AddRuntime(&summary, config_, *runtime_);
  if (runner_) AddRunner(&summary, *runner_);
}

void TrainingRun::Finish() {
  RunSummary& summary = result_.summary;
  result_.signal = stop_.received();
  if (result_.signal == 0 && told_to_stop_) result_.signal = SIGTERM;  // another rank was asked
  FillSummary();
  if (!result_.status.ok()) {
    summary.status = "failed";
    summary.reason = result_.status.ToString();
  } else if (result_.signal != 0) {
    summary.status = "interrupted";
    summary.reason = fmt::format("signal {}", result_.signal);
    progress_.Line(
        fmt::format("Stopped by signal {} after step {}. {}", result_.signal, at_.global_step, ResumeHint()));
  }
  if (const std::string skipped = DescribeSkipped(at_.global_step, scaler_); !skipped.empty()) {
    summary.warnings.push_back(skipped);
    TENON_LOG(kWarning, "train", "{}", skipped);
  }
  for (const std::string& line : profile_.Finish(summary)) progress_.Line(line);
  FlushLog();
  if (const std::string moved = DescribeFallbacks(summary); config_.fallback == FallbackPolicy::kWarn && !moved.empty())
    summary.warnings.push_back(moved);
  if (recording_) {
    const Status written = WriteRunSummary(summary, folder_->File("summary.json"));
    if (!written.ok() && result_.status.ok()) result_.status = written;
  }
  runner_.reset();
  ranks_.reset();
  runtime_.reset();
}

TrainerResult Train(const TrainerOptions& options) { return TrainingRun(options).Go(); }

}  // namespace tenon

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/early_stop.h"
#include "core/train/event_file.h"
#include "core/train/init_weights.h"
#include "core/train/local_steps.h"
#include "core/train/loss_scaler.h"
#include "core/train/metrics_file.h"
#include "core/train/network.h"
#include "core/train/progress.h"
#include "core/train/rank_watch.h"
#include "core/train/run_checks.h"
#include "core/train/run_end.h"
#include "core/train/run_folder.h"
#include "core/train/run_position.h"
#include "core/train/run_profile.h"
#include "core/train/run_ranks.h"
#include "core/train/step_batches.h"
#include "core/train/step_groups.h"
#include "core/train/step_runner.h"
#include "core/train/step_times.h"
#include "core/train/stop_signal.h"
#include "core/train/trainer.h"

namespace tenon {

inline double Milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// One run of the trainer, from its file to its summary. The parts stand in trainer.cc (start, evaluations, checkpoints, end)
// and training_steps.cc (epochs and steps). Main thread.
class TrainingRun {
 public:
  explicit TrainingRun(const TrainerOptions& options)
      : options_(options),
        config_(options.config),
        profile_(options.profile, config_),
        rank_(RankFromEnvironment()),
        progress_(rank_.ok() && rank_->rank > 0 ? nullptr : stdout) {}

  TrainerResult Go() {
    result_.status = Run();
    if (ranks_) result_.status = EndRanks(std::move(result_.status));
    Finish();
    return std::move(result_);
  }

 private:
  Status Run();
  Status Open();
  Status CheckConfig();
  Status OpenInputs();
  Status CheckEarlyStop();
  Status OpenDevice();
  Status JoinRanks();
  Status ShareStart();
  Status SettleVariables();
  Status MeetRanks();
  Result<std::vector<std::int64_t>> BatchesToTrain();
  Status TrainAbsent(StepPart part);
  Status EndRanks(Status status);
  Status SumSkipped();
  std::int64_t Skipped() const;  // samples, by this process
  CheckpointFolder MakeCheckpointFolder() const;
  Status OpenFolder();
  void OpenRunner();
  Status OpenRecords();
  Status Resume();
  Status LoadInto(const Checkpoint& checkpoint, const std::string& path);
  Status PrepareRunner();
  Status TrainEpochs();
  Status TrainEpoch();
  Status Step();
  Status RunStep();
  Status Watch(std::int64_t took, std::int64_t for_data, std::int64_t for_ranks);
  Result<double> TrainBatches();
  Result<double> WeightOfAll();
  Status Log(double loss, std::int64_t took);
  void NoteSkipped();
  Status EvaluateEpoch(bool last);
  Status Evaluate(Loader& loader, const std::string& part);
  Status Save();
  Status DryRun();
  void Finish();
  void FillDataWait(const LoaderStats& stats);
  void FillSummary();
  std::string ResumeHint() const;
  // Steps that changed the parameters: schedule and optimiser count no others.
  std::int64_t UpdatesDone() const { return at_.global_step - scaler_.state().skipped_steps; }
  // Did the last step change the parameters?
  bool Updated() const { return weight_ > 0 && !runner_->overflowed(); }
  bool StoppedEarly() const { return early_stop_ && early_stop_->reached(); }
  // A signal ends the run; with several ranks all end it after the same step.
  bool Interrupted() const { return ranks_ ? told_to_stop_ : stop_.received() != 0; }
  bool Stopped() const { return Interrupted() || at_.global_step >= total_steps_ || StoppedEarly(); }

  const TrainerOptions& options_;
  const RunConfig& config_;
  RunProfile profile_;
  TrainerResult result_;
  StopSignal stop_;
  std::int64_t started_ns_ = MonotonicNs();

  std::optional<RunFolder> folder_;
  std::optional<DataSource> data_;
  Result<Rank> rank_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<RunRanks> ranks_;  // with several ranks
  std::optional<RankWatch> watch_;   // with several ranks
  std::optional<Network> network_;
  RunFacts facts_;
  FirstValues first_values_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Loader> train_loader_, validation_loader_, test_loader_;
  StepGroups groups_;
  StepBatches batches_;  // of the current step
  double weight_ = 0;    // what it counts, on all ranks
  bool predicts_weights_ = false;
  bool told_to_stop_ = false;
  std::optional<LocalSteps> local_;  // where ranks update alone
  Batch stand_in_;                   // for a step in which this rank has none, where it must be there all the same
  LossScaler scaler_;
  std::optional<EarlyStop> early_stop_;
  std::optional<CheckpointFolder> checkpoints_;
  MetricsFile metrics_;
  EventFile events_;
  Progress progress_;
  StepTimes step_times_;

  std::int64_t total_steps_ = 0, per_epoch_ = 0;
  RunPosition at_;
  double interval_loss_ = 0;
  std::int64_t interval_steps_ = 0, interval_ns_ = 0;
  std::int64_t samples_ = 0, train_ns_ = 0;     // of all steps but the first, with the waits for their batches
  std::int64_t skipped_samples_ = 0;            // up to the end of the last epoch
  std::optional<std::int64_t> skipped_of_all_;  // by all ranks, where there are several
  std::string last_saved_;
  bool recording_ = false;  // the folder holds this run, so that summary.json is its to write
};

}  // namespace tenon

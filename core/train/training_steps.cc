// Epochs and steps of a run.
#include <algorithm>

#include "core/base/log.h"
#include "core/platform/process.h"
#include "core/train/loss.h"
#include "core/train/schedule.h"
#include "core/train/training_run.h"

namespace tenon {
Status TrainingRun::TrainEpochs() {
  // A checkpoint at the end of an epoch stands at the start of the next one; an early stop wants each evaluation.
  if (at_.step_in_epoch >= per_epoch_ && !Stopped()) {
    if (early_stop_ && early_stop_->state().last_epoch < at_.epoch) TENON_TRY(EvaluateEpoch(false));
    if (!StoppedEarly()) at_.NextEpoch();
  }
  while (!Stopped() && at_.epoch <= config_.train.epochs) {
    TENON_TRY_WHILE(TrainEpoch(), "training epoch {} of {}", at_.epoch, config_.train.epochs);
    if (at_.step_in_epoch < per_epoch_) break;  // stopped in mid-epoch
    result_.summary.train_loss.push_back(at_.train_loss());
    ++result_.summary.epochs;
    NoteSkipped();
    TENON_TRY(EvaluateEpoch(Stopped() || at_.epoch == config_.train.epochs));
    const bool last = Stopped() || at_.epoch == config_.train.epochs;
    const bool due = config_.checkpoint.steps
                         ? at_.global_step % *config_.checkpoint.steps == 0
                         : config_.checkpoint.every > 0 && at_.epoch % config_.checkpoint.every == 0;
    if (due || last) TENON_TRY(Save());
    if (last) break;
    at_.NextEpoch();
  }
  // Ended in mid-epoch or by an early stop, or resumed at the end of a finished run.
  TENON_TRY(SettleVariables());
  const bool unmeasured = at_.step_in_epoch < per_epoch_ || !result_.summary.test_loss;
  if (unmeasured && !Interrupted() && test_loader_)
    TENON_TRY_WHILE(Evaluate(*test_loader_, "test"), "evaluating after step {}", at_.global_step);
  return Save();
}

void TrainingRun::NoteSkipped() {
  const std::int64_t skipped = train_loader_->stats().skipped, now = skipped - skipped_samples_;
  if (now > 0)
    progress_.Line(fmt::format("epoch {}/{}: {} sample{} skipped that could not be read (see log.txt)", at_.epoch,
                               config_.train.epochs, now, now == 1 ? "" : "s"));
  skipped_samples_ = skipped;
}

Status TrainingRun::TrainEpoch() {
  TENON_TRY(train_loader_->Start(at_.epoch - 1, groups_.first_batch(at_.step_in_epoch)));
  while (!Stopped() && at_.step_in_epoch < per_epoch_) {
    TENON_TRY(Step());
    if (at_.step_in_epoch == per_epoch_) break;  // saved when it is evaluated
    if (config_.checkpoint.steps && at_.global_step % *config_.checkpoint.steps == 0) TENON_TRY(Save());
  }
  return local_ ? MeetRanks() : Status();
}

// The loss of a step is the mean over what its batches count, on all ranks; 0 where they count nothing: then nothing changes.
Result<double> TrainingRun::TrainBatches() {
  {
    const ActivityScope wait(profile_.log(), ActivityKind::kDataWait);
    const bool all_samples = ranks_ && config_.parallel.sync_batch_norm;
    TENON_TRY(batches_.Read(*train_loader_, groups_.batches_of(at_.step_in_epoch), config_.loss, all_samples));
  }
  weight_ = batches_.weight();
  if (ranks_ && !local_) {
    TENON_ASSIGN(weight_, WeightOfAll());
  }
  if (weight_ == 0) {
    // A checkpoint before the first update has all variables too; those of several ranks were made at the start.
    if (!ranks_) TENON_TRY(runner_->Prepare(batches_.last()));
    return 0.0;
  }
  StepPart part;
  part.learning_rate = at_.learning_rate;
  part.step = UpdatesDone();
  part.loss_scale = scaler_.scale();
  part.stop = stop_.received() != 0;
  part.counted = batches_.weight();
  part.expected = predicts_weights_ ? weight_ : 0;
  double loss = 0;
  TENON_ASSIGN(const std::vector<std::int64_t> indexes, BatchesToTrain());
  for (const std::int64_t index : indexes) {
    part.position = groups_.position(at_.global_step, index) * rank_->size + rank_->rank;
    part.first = index == indexes.front();
    part.last = index == indexes.back();
    const StepBatches::Part* of_step = batches_.Find(index);
    if (of_step == nullptr) {
      TENON_TRY(TrainAbsent(part));
      continue;
    }
    part.weight = of_step->weight / weight_;
    TENON_ASSIGN(const double of_batch, runner_->Train(of_step->batch, part));
    loss += batches_.parts().size() == 1 ? of_batch : of_batch * part.weight;
  }
  if (local_) local_->Note(loss, weight_);
  if (!ranks_ || local_) return loss;
  if (indexes.empty()) TENON_TRY(runner_->TrainWithout(part));
  told_to_stop_ = told_to_stop_ || runner_->totals().stop != 0;
  weight_ = runner_->totals().counted;
  return runner_->totals().loss;
}

// Follows from the numbers of samples, which each rank knows, unless labels have weights or samples are padded. A label that
// is ignored is made up for when the gradients are summed.
Result<double> TrainingRun::WeightOfAll() {
  constexpr double kExact = 1 << 24;  // what float32 counts to
  const double labels = static_cast<double>(batches_.samples_of_all() * data_->layout().label_shape.elements());
  const bool as_it_is = config_.parallel.hook || config_.parallel.sync_batch_norm;  // nothing can be made up for later
  predicts_weights_ = CountsLabels(config_.loss) && !data_->varies() && labels <= kExact && !as_it_is;
  return predicts_weights_ ? labels : ranks_->Sum(batches_.weight());
}

// The batches of the step that this rank trains: its own, and with batch norms over all ranks those of any rank.
Result<std::vector<std::int64_t>> TrainingRun::BatchesToTrain() {
  if (!ranks_ || !config_.parallel.sync_batch_norm) return batches_.Indexes();
  return batches_.IndexesOfAll([this](std::span<double> values) { return ranks_->Sum(values); });
}

// Batch norms over all ranks need each of them: this one takes a batch that counts nothing.
Status TrainingRun::TrainAbsent(StepPart part) {
  part.weight = 0;
  ranks_->gradients().SetAbsent(true);
  auto trained = runner_->Train(stand_in_, part);
  ranks_->gradients().SetAbsent(false);
  return std::move(trained).status();
}

Status TrainingRun::Step() {
  profile_.BeginStep(*runtime_, at_.global_step + 1);
  Status done = RunStep();
  profile_.EndStep(at_.global_step);
  return done;
}

Status TrainingRun::RunStep() {
  const ActivityScope scope(profile_.log(), ActivityKind::kStep);
  const std::int64_t waited = train_loader_->stats().wait_ns, begin = MonotonicNs();
  const std::int64_t stood = watch_ ? watch_->wait_ns() : 0;
  at_.learning_rate =
      LearningRateAt(config_.schedule, LearningRate(config_.optimizer), UpdatesDone(), total_steps_, per_epoch_);
  TENON_ASSIGN(const double loss, TrainBatches());
  const std::int64_t with_data = MonotonicNs() - begin;
  const std::int64_t for_data = train_loader_->stats().wait_ns - waited, took = with_data - for_data;
  if (!result_.summary.first_step_ms) {  // it compiles
    result_.summary.first_step_ms = Milliseconds(MonotonicNs() - started_ns_);
  } else {
    step_times_.Add(Milliseconds(took));
    train_ns_ += with_data;
    samples_ += batches_.samples();
    if (watch_) TENON_TRY(Watch(took, for_data, watch_->wait_ns() - stood));
  }
  ++at_.global_step;
  ++at_.step_in_epoch;
  if (weight_ > 0) TENON_TRY_WHILE(scaler_.Update(runner_->overflowed()), "training step {}", at_.global_step);
  if (Updated() && !local_) {
    at_.loss_sum += loss * weight_;
    at_.loss_weight += weight_;
  }
  if (local_ && local_->Due(at_.global_step)) TENON_TRY(MeetRanks());
  return Log(loss, took);
}

Status TrainingRun::Watch(std::int64_t took, std::int64_t for_data, std::int64_t for_ranks) {
  const RankTimes times{Milliseconds(for_data), Milliseconds(took - for_ranks), Milliseconds(for_ranks)};
  TENON_ASSIGN(const std::string slow, watch_->Note(times));
  if (slow.empty()) return {};
  progress_.Line(slow);
  TENON_LOG(kWarning, "train", "{}", slow);
  return {};
}

Status TrainingRun::Log(double loss, std::int64_t took) {
  const std::optional<double> norm = Updated() ? runner_->GradientNorm() : std::nullopt;
  if (norm && *norm > *config_.train.clip_norm) ++result_.summary.clipping->clipped_steps;
  if (Updated()) {
    interval_loss_ += loss;
    ++interval_steps_;
  }
  interval_ns_ += took;
  if (progress_.Due()) {
    const double rate = train_ns_ > 0 ? static_cast<double>(samples_) / (static_cast<double>(train_ns_) * 1e-9) : 0;
    progress_.Show({at_.epoch, config_.train.epochs, at_.step_in_epoch, per_epoch_, loss, at_.learning_rate, rate});
  }
  if (config_.log.every <= 0 || at_.global_step % config_.log.every != 0 || interval_steps_ == 0) return {};
  const double steps = static_cast<double>(interval_steps_);
  TENON_TRY(metrics_.WriteStep(at_.global_step, at_.epoch, interval_loss_ / steps, at_.learning_rate,
                               Milliseconds(interval_ns_) / steps, norm));
  TENON_TRY(events_.AddScalar(at_.global_step, "train/loss", interval_loss_ / steps));
  TENON_TRY(events_.AddScalar(at_.global_step, "train/learning_rate", at_.learning_rate));
  if (norm) TENON_TRY(events_.AddScalar(at_.global_step, "train/gradient_norm", *norm));
  interval_loss_ = 0;
  interval_steps_ = 0;
  interval_ns_ = 0;
  return {};
}

}  // namespace tenon

#include "core/train/run_position.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/passes/pass.h"

namespace tenon {
namespace {

template <class T>
std::optional<T> Extra(const RunState& state, std::string_view name) {
  for (const NamedTensor& extra : state.extra) {
    if (extra.name == name && extra.tensor.dtype() == DTypeOf<T>::value) return extra.tensor.data<T>()[0];
  }
  return std::nullopt;
}

Status CheckAccumulate(const RunState& state, std::int64_t mine) {
  const std::int64_t theirs = Extra<std::int64_t>(state, "train.accumulate").value_or(1);
  TENON_INVALID_IF(
      theirs != mine,
      "The checkpoint is of a run with train.accumulate {}; this run has {}: its place in the epoch would be "
      "another.",
      theirs, mine);
  return {};
}

// The samples of a step, whatever the number of ranks that share it.
Status CheckBatch(const RunState& state, std::int64_t batch, std::int64_t ranks) {
  const auto theirs = Extra<std::int64_t>(state, "train.batch");
  if (!theirs || *theirs == ranks * batch) return {};
  const std::string mend = *theirs % ranks == 0
                               ? fmt::format("Set data.batch to {}.", *theirs / ranks)
                               : fmt::format(
                                     "No 'data.batch' of {} ranks makes {}; start as many ranks as share them "
                                     "evenly.",
                                     ranks, *theirs);
  return InvalidArgument(
      "The checkpoint is of a run with {} samples a step; this run has {}{}: its place in the epoch would be "
      "another. {}",
      *theirs, ranks * batch, ranks == 1 ? "" : fmt::format(" ({} ranks of 'data.batch' {})", ranks, batch), mend);
}

// As the file has it: "{test: 0.1, validation: every_5}".
std::string TextOf(const SplitConfig& split) {
  const auto part = [](std::int64_t every, double fraction) {
    return every > 0 ? fmt::format("every_{}", every) : fmt::format("{}", fraction);
  };
  std::vector<std::string> parts;
  if (!split.empty()) parts.push_back("test: " + part(split.every, split.fraction));
  if (!split.validation.empty())
    parts.push_back("validation: " + part(split.validation.every, split.validation.fraction));
  return "{" + Join(parts, ", ") + "}";
}

constexpr const char* kSplit = "train.data_split";

Tensor TensorOf(const std::string& text) {
  Tensor tensor(DType::kU8, Shape{static_cast<std::int64_t>(text.size())});
  std::copy(text.begin(), text.end(), tensor.data<std::uint8_t>());
  return tensor;
}

// Another part would be held out: test samples would have been trained on.
Status CheckSplit(const RunState& state, const SplitConfig& split) {
  const std::string mine = TextOf(split);
  for (const NamedTensor& extra : state.extra) {
    if (extra.name != kSplit || extra.tensor.dtype() != DType::kU8) continue;
    const auto* first = extra.tensor.data<std::uint8_t>();
    const std::string theirs(first, first + extra.tensor.elements());
    TENON_INVALID_IF(theirs != mine,
                     "The checkpoint is of a run with data.split {}; this run has {}: samples that it was trained on "
                     "would be held out.",
                     theirs, mine);
  }
  return {};
}

Status AddTensors(StepRunner& runner, const std::vector<std::string>& names, std::vector<NamedTensor>* out) {
  for (const std::string& name : names) {
    TENON_ASSIGN(Tensor value, runner.variables().Get(name));
    out->push_back({name, std::move(value)});
  }
  return {};
}

// An average that a checkpoint does not have begins where its parameter stands in it.
Status BeginAverages(std::span<const TensorTarget> targets, const MatchReport& report, exec::Variables& variables) {
  std::map<std::string, const Tensor*> loaded;
  for (std::size_t i = 0; i < targets.size(); ++i) loaded[targets[i].name] = report.tensors[i];
  for (const auto& [name, tensor] : loaded) {
    const auto average = loaded.find(std::string(passes::kAveragePrefix) + name);
    if (tensor == nullptr || average == loaded.end() || average->second != nullptr) continue;
    TENON_TRY(variables.Set(average->first, *tensor));
  }
  return {};
}

}  // namespace

std::string RunPosition::Name() const { return fmt::format("{}_{}", epoch, step_in_epoch); }

std::optional<double> RunPosition::train_loss() const {
  if (loss_weight == 0) return std::nullopt;
  return loss_sum / loss_weight;
}

void RunPosition::NextEpoch() {
  ++epoch;
  step_in_epoch = 0;
  loss_sum = 0;
  loss_weight = 0;
}

Result<RunState> CaptureRun(const RunConfig& config, const RunPosition& position, StepRunner& runner,
                            const LossScaler& scaler, const EarlyStop* stop, std::int64_t ranks) {
  RunState state;
  if (scaler.on()) state.scaler = scaler.state();
  TENON_TRY(AddTensors(runner, runner.ParameterNames(), &state.parameters));
  TENON_TRY(AddTensors(runner, runner.OptimizerStateNames(), &state.optimizer_state));
  state.epoch = position.epoch;
  state.step_in_epoch = position.step_in_epoch;
  state.global_step = position.global_step;
  state.seed = config.seed;
  state.learning_rate = position.learning_rate;
  if (const auto* sgd = std::get_if<SgdConfig>(&config.optimizer); sgd != nullptr && sgd->momentum != 0)
    state.momentum = sgd->momentum;
  state.extra.push_back({"train.batch", Tensor::Scalar(ranks * config.data.batch)});
  if (config.train.accumulate > 1) state.extra.push_back({"train.accumulate", Tensor::Scalar(config.train.accumulate)});
  state.extra.push_back({kSplit, TensorOf(TextOf(config.data.split))});
  state.extra.push_back({"train.loss_sum", Tensor::Scalar(position.loss_sum)});
  state.extra.push_back({"train.loss_weight", Tensor::Scalar(position.loss_weight)});
  if (stop == nullptr) return state;
  const EarlyStop::State watched = stop->state();
  if (watched.best) state.extra.push_back({"train.early_stop_best", Tensor::Scalar(*watched.best)});
  state.extra.push_back({"train.early_stop_best_epoch", Tensor::Scalar(watched.best_epoch)});
  state.extra.push_back({"train.early_stop_last_epoch", Tensor::Scalar(watched.last_epoch)});
  state.extra.push_back({"train.early_stop_without_better", Tensor::Scalar(watched.without_better)});
  return state;
}

Result<RunPosition> PositionOf(const RunConfig& config, const RunState& state, std::int64_t ranks) {
  TENON_INVALID_IF(state.seed != config.seed,
                   "The checkpoint is of a run with seed {}; this run has seed {}: its batches would differ.",
                   state.seed, config.seed);
  TENON_TRY(CheckBatch(state, config.data.batch, ranks));
  TENON_TRY(CheckAccumulate(state, config.train.accumulate));
  TENON_TRY(CheckSplit(state, config.data.split));
  RunPosition position;
  position.epoch = std::max<std::int64_t>(state.epoch, 1);
  position.step_in_epoch = state.step_in_epoch;
  position.global_step = state.global_step;
  position.learning_rate = state.learning_rate;
  position.loss_sum = Extra<double>(state, "train.loss_sum").value_or(0);
  position.loss_weight = Extra<double>(state, "train.loss_weight").value_or(0);
  return position;
}

Status RestoreScaler(const RunState& state, LossScaler* scaler) {
  TENON_INVALID_IF(state.scaler.has_value() != scaler->on(),
                   "The checkpoint is of a run that {} its loss; this run {}. See amp.loss_scale.",
                   state.scaler ? "scaled" : "did not scale", scaler->on() ? "does" : "does not");
  if (state.scaler) scaler->Restore(*state.scaler);
  return {};
}

void RestoreEarlyStop(const RunState& state, EarlyStop* stop) {
  EarlyStop::State watched;
  watched.best = Extra<double>(state, "train.early_stop_best");
  watched.best_epoch = Extra<std::int64_t>(state, "train.early_stop_best_epoch").value_or(0);
  watched.last_epoch = Extra<std::int64_t>(state, "train.early_stop_last_epoch").value_or(0);
  watched.without_better = Extra<std::int64_t>(state, "train.early_stop_without_better").value_or(0);
  stop->Restore(watched);
}

Result<MatchReport> RestoreTensors(const Checkpoint& checkpoint, StepRunner& runner, bool lenient) {
  std::vector<TensorTarget> targets;
  for (const auto& names : {runner.ParameterNames(), runner.OptimizerStateNames()}) {
    for (const std::string& name : names) {
      const auto* variable = runner.variables().Find(name);
      targets.push_back({name, variable->dtype, variable->shape});
    }
  }
  MatchOptions match;
  match.lenient = lenient;
  match.lenient_by = "--lenient";
  match.ignore = [](const std::string& name) { return IsRunScalarName(name); };
  TENON_ASSIGN(MatchReport report, MatchTensors(checkpoint, targets, match));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (report.tensors[i] != nullptr) TENON_TRY(runner.variables().Set(targets[i].name, *report.tensors[i]));
  }
  if (lenient) TENON_TRY(BeginAverages(targets, report, runner.variables()));
  return report;
}

}  // namespace tenon

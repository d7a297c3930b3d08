#include "core/train/checkpoint_state.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/text.h"

namespace tenon {
namespace {

constexpr std::string_view kGlobalStep = "global_step";
constexpr std::string_view kLearningRate = "learning_rate";
constexpr std::string_view kMomentum = "momentum";
constexpr std::string_view kEpoch = "epoch_num";
constexpr std::string_view kStep = "step_num";
constexpr std::string_view kStepInEpoch = "step_in_epoch";
constexpr std::string_view kSeed = "seed";
constexpr std::string_view kScale = "loss_scale";
constexpr std::string_view kGoodSteps = "loss_scale_good_steps";
constexpr std::string_view kSkippedSteps = "loss_scale_skipped_steps";
constexpr std::string_view kVersion = "tenon_version";
constexpr std::string_view kExtraPrefix = "train.";

constexpr std::string_view kRunScalars[] = {kGlobalStep,  kLearningRate, kMomentum,    kEpoch,     kStep,
                                            kStepInEpoch, kSeed,         kScale,       kGoodSteps, kSkippedSteps,
                                            kVersion,     "beta1_power", "beta2_power"};
constexpr std::string_view kStatePrefixes[] = {"moments.", "moment1.", "moment2.", "adam_m.",
                                               "adam_v.",  "accum.",   "stat.",    "ema."};

// "1.2.3" as 1002003, so that it is a number in every format.
std::int64_t VersionNumber() {
  std::int64_t number = 0;
  for (const std::string& part : Split(TENON_VERSION_STRING, '.')) {
    std::int64_t value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    number = number * 1000 + value;
  }
  return number;
}

void AddInteger(Checkpoint* checkpoint, std::string_view name, std::int64_t value) {
  checkpoint->Add(std::string(name), Tensor::Scalar<std::int64_t>(value));
}

void AddFloat(Checkpoint* checkpoint, std::string_view name, double value) {
  checkpoint->Add(std::string(name), Tensor::Scalar<float>(static_cast<float>(value)));
}

// MindSpore's own form, Int32 [1], as long as the number fits.
void AddGlobalStep(Checkpoint* checkpoint, std::int64_t step) {
  const std::int64_t clipped = std::min<std::int64_t>(step, std::numeric_limits<std::int32_t>::max());
  checkpoint->Add(std::string(kGlobalStep), Tensor::Of<std::int32_t>(Shape{1}, {static_cast<std::int32_t>(clipped)}));
}

std::optional<double> Number(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* tensor = checkpoint.Find(name);
  if (tensor == nullptr || tensor->elements() != 1) return std::nullopt;
  return *Cast(*tensor, DType::kF64).data<double>();
}

Result<std::int64_t> Integer(const Checkpoint& checkpoint, std::string_view name, std::int64_t low) {
  const Tensor* tensor = checkpoint.Find(name);
  if (tensor == nullptr) {
    return Error(Code::kFailedPrecondition,
                 "The checkpoint has no '{}'. It holds weights only and cannot continue a run; "
                 "init_from takes weights from it.",
                 name);
  }
  if (tensor->elements() != 1 || !IsInteger(tensor->dtype())) {
    return Error(Code::kDataLoss, "'{}' of the checkpoint is {}; an integer was expected.", name, tensor->Describe());
  }
  const std::int64_t value = *Cast(*tensor, DType::kI64).data<std::int64_t>();
  if (value < low) return Error(Code::kDataLoss, "'{}' of the checkpoint is {}.", name, value);
  return value;
}

}  // namespace

std::string OptimizerStateName(std::string_view slot, std::string_view parameter) {
  return fmt::format("{}.{}", slot == "momentum" ? "moments" : slot, parameter);
}

bool IsRunScalarName(std::string_view name) {
  return std::find(std::begin(kRunScalars), std::end(kRunScalars), name) != std::end(kRunScalars) ||
         name.starts_with(kExtraPrefix);
}

bool IsOptimizerStateName(std::string_view name) {
  return std::any_of(std::begin(kStatePrefixes), std::end(kStatePrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Checkpoint ToCheckpoint(const RunState& state) {
  Checkpoint checkpoint;
  checkpoint.tensors = state.parameters;
  AddGlobalStep(&checkpoint, state.global_step);
  AddFloat(&checkpoint, kLearningRate, state.learning_rate);
  if (state.momentum) AddFloat(&checkpoint, kMomentum, *state.momentum);
  checkpoint.tensors.insert(checkpoint.tensors.end(), state.optimizer_state.begin(), state.optimizer_state.end());
  if (state.scaler) {
    AddFloat(&checkpoint, kScale, state.scaler->scale);
    AddInteger(&checkpoint, kGoodSteps, state.scaler->good_steps);
    AddInteger(&checkpoint, kSkippedSteps, state.scaler->skipped_steps);
  }
  checkpoint.tensors.insert(checkpoint.tensors.end(), state.extra.begin(), state.extra.end());
  AddInteger(&checkpoint, kEpoch, state.epoch);
  AddInteger(&checkpoint, kStep, state.global_step);
  AddInteger(&checkpoint, kStepInEpoch, state.step_in_epoch);
  AddInteger(&checkpoint, kSeed, state.seed);
  AddInteger(&checkpoint, kVersion, VersionNumber());
  return checkpoint;
}

Result<RunState> ReadRunScalars(const Checkpoint& checkpoint) {
  RunState state;
  TENON_ASSIGN(state.epoch, Integer(checkpoint, kEpoch, 0));
  TENON_ASSIGN(state.global_step, Integer(checkpoint, kStep, 0));
  TENON_ASSIGN(state.step_in_epoch, Integer(checkpoint, kStepInEpoch, 0));
  TENON_ASSIGN(state.seed, Integer(checkpoint, kSeed, std::numeric_limits<std::int64_t>::min()));
  state.learning_rate = Number(checkpoint, kLearningRate).value_or(0);
  state.momentum = Number(checkpoint, kMomentum);
  if (const std::optional<double> scale = Number(checkpoint, kScale)) {
    state.scaler = RunState::Scaler{};
    state.scaler->scale = *scale;
    TENON_ASSIGN(state.scaler->good_steps, Integer(checkpoint, kGoodSteps, 0));
    TENON_ASSIGN(state.scaler->skipped_steps, Integer(checkpoint, kSkippedSteps, 0));
  }
  for (const NamedTensor& entry : checkpoint.tensors) {
    if (entry.name.starts_with(kExtraPrefix)) state.extra.push_back(entry);
  }
  return state;
}

}  // namespace tenon

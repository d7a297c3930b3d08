#include "core/train/run_end.h"

#include "core/base/text.h"

namespace tenon {

Status CheckTrained(std::int64_t steps, const LossScaler& scaler) {
  if (steps == 0 || scaler.state().skipped_steps < steps) return {};
  return Error(
      Code::kAborted,
      "Nothing was trained: the loss or a gradient was not finite in each of the {} steps, the last with a loss "
      "scale of {}. Lower amp.loss_scale, keep layers in float32 (amp.keep), or use amp: bf16.",
      steps, scaler.scale());
}

std::string DescribeSkipped(std::int64_t steps, const LossScaler& scaler) {
  const std::int64_t skipped = scaler.state().skipped_steps;
  if (skipped == 0) return "";
  return fmt::format(
      "{} of {} steps were skipped and changed no parameter: their loss or a gradient was not finite. The loss scale "
      "is "
      "{} now.",
      skipped, steps, scaler.scale());
}

std::string DescribeGoingOn(const std::vector<std::string>& command, const std::string& folder, const RunPosition& at,
                            const Result<FoundCheckpoint>& newest) {
  if (!newest.ok()) return "There is no checkpoint of it, so it cannot go on.";
  std::string line;
  const Result<RunState> state = ReadRunScalars(newest.value().checkpoint);
  if (state.ok() && state.value().global_step != at.global_step)
    line = fmt::format("The steps after step {} were not saved. ", state.value().global_step);
  line += "Go on with:";
  for (const std::string& word : command) line += " " + ShellWord(word);
  return line + fmt::format(" --output {} --resume", ShellWord(folder));
}

}  // namespace tenon

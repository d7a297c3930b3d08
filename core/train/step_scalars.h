#pragma once

#include <cstdint>

#include "core/passes/pass.h"
#include "core/train/step_runner.h"

namespace tenon {

// The numbers that the graphs of a step read from their inputs, each under the name that the passes give it.
struct StepScalars {
  StepScalars() = default;
  // With `weighs_loss` gradients come with the weight of the part.
  StepScalars(const StepPart& part, bool weighs_loss)
      : learning_rate(static_cast<float>(part.learning_rate)),
        weight(weighs_loss ? 1.0F : static_cast<float>(part.weight)),
        loss_scale(static_cast<float>(part.loss_scale)),
        loss_seed(static_cast<float>(part.loss_scale * part.weight)),
        step(part.step + 1),
        start(part.first ? 1 : 0) {}

  // Calls feed(name, number) for each, until one fails.
  template <class Feed>
  Status ForEach(const Feed& feed) const {
    TENON_TRY(feed(passes::kLearningRateInput, learning_rate));
    TENON_TRY(feed(passes::kStepInput, step));
    TENON_TRY(feed(passes::kWeightInput, weight));
    TENON_TRY(feed(passes::kStartInput, start));
    TENON_TRY(feed(passes::kLossScaleInput, loss_scale));
    return feed(passes::kLossSeedInput, loss_seed);
  }

  float learning_rate = 0, weight = 1, loss_scale = 1, loss_seed = 1;
  std::int64_t step = 1, start = 1;
};

}  // namespace tenon

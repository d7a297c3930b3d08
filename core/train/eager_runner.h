#pragma once

#include "core/train/step_runner.h"

namespace tenon {

// mode: pynative. Operators run one by one when they are reached, on a tape; the same kernels and gradients.
std::unique_ptr<StepRunner> MakeEagerRunner(exec::Runtime& runtime, const Network& network,
                                            const StepRunnerOptions& options);

}  // namespace tenon

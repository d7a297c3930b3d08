#pragma once

#include "core/train/step_runner.h"

namespace tenon {

// mode: graph. Programs are compiled once per shape of a batch and kept, the least recently used beyond 64 dropped.
std::unique_ptr<StepRunner> MakeGraphRunner(exec::Runtime& runtime, const Network& network,
                                            const StepRunnerOptions& options);

}  // namespace tenon

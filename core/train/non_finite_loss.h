#pragma once

#include <functional>

#include "core/exec/program.h"
#include "core/train/step_runner.h"
#include "core/train/trained_network.h"

namespace tenon {

// The error of a step whose loss is not finite, with its cause: samples, labels, then parameters and running statistics
// that are not finite already, else the first result of `run_again`, which runs the forward part once more for an observer.
Status ExplainNonFiniteLoss(const StepPart& part, double loss, const Batch& batch, const TrainedNetwork& network,
                            const std::function<Status(exec::StepObserver& observer)>& run_again);

}  // namespace tenon

#include "core/train/step_runner.h"

#include "core/train/eager_runner.h"
#include "core/train/graph_runner.h"

namespace tenon {

std::unique_ptr<StepRunner> MakeStepRunner(exec::Runtime& runtime, const Network& network,
                                           const StepRunnerOptions& options) {
  return options.config->mode == RunMode::kGraph ? MakeGraphRunner(runtime, network, options)
                                                 : MakeEagerRunner(runtime, network, options);
}

}  // namespace tenon

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/data/loader.h"
#include "core/exec/runtime.h"
#include "core/exec/variables.h"
#include "core/train/network.h"
#include "core/train/run_config.h"
#include "core/train/run_summary.h"

namespace tenon {

// Runs training and evaluation steps of one network on one device, by a compiled program or operator by operator. One
// thread.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // One step: forward, backward, update. Returns the loss. A loss that is not finite is an error that names the first
  // operator whose result is not, and leaves parameters and optimiser state as they were. `step` counts from 0.
  virtual Result<double> Train(const Batch& batch, double learning_rate, std::int64_t step) = 0;

  struct Evaluation {
    double loss = 0;       // mean over the batch
    const Tensor* output;  // of the network; valid until the next call
  };
  virtual Result<Evaluation> Evaluate(const Batch& batch) = 0;

  // Makes parameters and states without a step, so that they can be loaded or saved.
  virtual Status Prepare(const Batch& like) = 0;
  virtual exec::Variables& variables() = 0;
  // Names of parameters and running statistics, in the order of the layers; and of optimiser states.
  virtual std::vector<std::string> ParameterNames() const = 0;
  virtual std::vector<std::string> OptimizerStateNames() const = 0;
  // Adds kernels, fusions, plan cache and plan size.
  virtual void AddTo(RunSummary& summary) const = 0;
};

struct StepRunnerOptions {
  const RunConfig* config = nullptr;  // must outlive the runner
  SampleLayout layout;                // of the data
  std::string graphs_folder;          // where save_graphs writes; empty: nowhere
};

// mode: graph. Programs are compiled once per batch size and kept, the least recently used beyond 64 dropped.
Result<std::unique_ptr<StepRunner>> MakeGraphRunner(exec::Runtime& runtime, const Network& network,
                                                    const StepRunnerOptions& options);

// mode: pynative. Operators run one by one when they are reached, on a tape; the same kernels and gradients.
Result<std::unique_ptr<StepRunner>> MakeEagerRunner(exec::Runtime& runtime, const Network& network,
                                                    const StepRunnerOptions& options);

}  // namespace tenon

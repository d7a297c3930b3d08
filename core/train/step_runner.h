#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/loader.h"
#include "core/exec/gradient_exchange.h"
#include "core/exec/runtime.h"
#include "core/exec/step_plan.h"
#include "core/exec/variables.h"
#include "core/train/network.h"
#include "core/train/run_config.h"
#include "core/train/run_summary.h"

namespace tenon {

// A batch's place in a step. The gradients of a step are the sum over its batches, each times its weight; with several ranks
// over the batches of all.
struct StepPart {
  double learning_rate = 0;
  std::int64_t step = 0;      // from 0
  std::int64_t position = 0;  // of the batch in the run: where random numbers start
  double weight = 1;          // its share of what the step counts (CountedWeight)
  bool first = true, last = true;
  double loss_scale = 1;  // where the run scales its loss (ScalesLoss)
  // Of a step of several ranks whose shares follow from numbers of samples: what the batches of this rank count, and what
  // those of all should, no label being ignored. 0: the weights are exact.
  double counted = 0, expected = 0;
  bool stop = false;  // this rank was asked to stop: the others are told with the gradients
};

// What a step is compiled for: the shapes of a batch, which differ in the last one of an epoch and where sequences are
// padded to the length of their batch. No shapes: what reads no batch.
struct BatchShape {
  BatchShape() = default;
  explicit BatchShape(const Batch& batch) : samples(batch.samples.shape()), labels(batch.labels.shape()) {}
  bool operator==(const BatchShape& other) const { return samples == other.samples && labels == other.labels; }
  Shape samples, labels;
};

// Runs training and evaluation steps of one network on one device, by a compiled program or operator by operator. One
// thread.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // One batch of a step: forward, backward and, after the last one, the update. Returns the loss of the batch. Without a
  // loss scale, a loss that is not finite is an error that names the first operator whose result is not, and leaves
  // parameters and optimiser state as they were.
  virtual Result<double> Train(const Batch& batch, const StepPart& part) = 0;
  // A step of several ranks in which this one has no batch: it takes part in the sums with nothing, and updates.
  virtual Status TrainWithout(const StepPart& part) = 0;
  // A step of one batch; `step` counts from 0.
  Result<double> Train(const Batch& batch, double learning_rate, std::int64_t step) {
    return Train(batch, StepPart{.learning_rate = learning_rate, .step = step, .position = step});
  }
  // Did the last step of a run that scales its loss find a loss or gradient that is not finite? Then it has updated nothing.
  virtual bool overflowed() const = 0;
  // Sums over the ranks of the last step of several.
  virtual const exec::StepTotals& totals() const = 0;
  // Joint L2 norm of the gradients of the last update before they were clipped; nothing without clipping by norm.
  virtual std::optional<double> GradientNorm() const = 0;

  struct Evaluation {
    double loss = 0;       // mean over the batch
    const Tensor* output;  // of the network; valid until the next call
  };
  virtual Result<Evaluation> Evaluate(const Batch& batch) = 0;

  // Makes parameters and states without a step, so that they can be loaded or saved.
  virtual Status Prepare(const Batch& like) = 0;
  virtual exec::Variables& variables() = 0;
  // Names of parameters and running statistics, in the order of the layers; and of optimiser states and averages.
  virtual std::vector<std::string> ParameterNames() const = 0;
  virtual std::vector<std::string> OptimizerStateNames() const = 0;
  // What a prepared training step will run and need; nothing where operators are chosen when they are reached.
  virtual std::optional<exec::StepPlan> Plan() const = 0;
  // Adds kernels, fusions, plan cache and plan size.
  virtual void AddTo(RunSummary& summary) const = 0;
};

struct StepRunnerOptions {
  const RunConfig* config = nullptr;                            // must outlive the runner
  SampleLayout layout;                                          // of the data
  const std::map<std::string, Tensor>* first_values = nullptr;  // in place of random ones, by name; must outlive it
  std::string graphs_folder;                                    // where save_graphs writes; empty: nowhere
  exec::GradientExchange* exchange = nullptr;                   // with several ranks; must outlive the runner
};

// For the mode of the run file: programs that are compiled (graph_runner.h), or operators that run when they are reached
// (eager_runner.h). Runtime and network outlive the runner.
std::unique_ptr<StepRunner> MakeStepRunner(exec::Runtime& runtime, const Network& network,
                                           const StepRunnerOptions& options);

}  // namespace tenon

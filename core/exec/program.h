#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/gradient_exchange.h"
#include "core/exec/kernel.h"
#include "core/exec/variables.h"
#include "core/passes/pass.h"

namespace tenon::exec {

// Called for every result of a node while a program runs in the observed mode; `tensor` is row-major host memory and valid
// only during the call. An error stops the run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual Status OnResult(const graph::Node& node, int output, const std::string& value_name, const Tensor& tensor) = 0;
};

struct RunOptions {
  std::uint64_t seed = 0;            // of the counter-based random operators
  std::uint64_t position = 0;        // which run this is: the step number
  StepObserver* observer = nullptr;  // slow: looks at every result
};

// A compiled graph with resolved addresses. In steady state a run allocates nothing, infers nothing and plans nothing: it
// walks a list of kernel calls. One thread; variables and the arena are shared with other programs of the session, so results
// are read before another of them runs.
class Program {
 public:
  // Takes over a compilation that went through the pipeline. `variables` must outlive the program.
  // `exchange`, of a run with several ranks, too; null: the compilation has no buckets.
  static Result<std::unique_ptr<Program>> Build(passes::Compilation compilation, Variables& variables,
                                                std::uint32_t threads, GradientExchange* exchange = nullptr);

  const graph::Graph& graph() const { return compilation_.graph; }
  const passes::Compilation& compilation() const { return compilation_; }
  std::int64_t arena_bytes() const { return compilation_.memory.arena_bytes; }

  // Index of an input by name, -1 when the program does not read it.
  int FindInput(std::string_view name) const;
  // Lets input `index` read `data` (host memory, `bytes` long, alive during Run; zero-copy where the device can reach it).
  Status Feed(int index, const void* data, std::int64_t bytes);

  Status Run(const RunOptions& options);
  // The two halves of a training run: up to the loss, and the rest. The caller may look at the loss between them and leave
  // the second half out; parameters are then as before.
  Status RunToLoss(const RunOptions& options) { return RunSteps(0, loss_end_, options); }
  Status RunAfterLoss(const RunOptions& options) { return RunSteps(loss_end_, steps_.size(), options); }
  // The second half in two: up to the answer whether the gradients are finite (Compilation::finite), and the rest.
  Status RunToFinite(const RunOptions& options) { return RunSteps(loss_end_, finite_end_, options); }
  Status RunAfterFinite(const RunOptions& options) { return RunSteps(finite_end_, steps_.size(), options); }
  // A program without a loss in two parts: up to the launch of its last bucket, and the rest.
  Status RunToLaunched(const RunOptions& options) { return RunSteps(0, launched_end_, options); }
  Status RunAfterLaunched(const RunOptions& options) { return RunSteps(launched_end_, steps_.size(), options); }
  Status RunLaunchedToFinite(const RunOptions& options) { return RunSteps(launched_end_, finite_end_, options); }
  // In place of what comes after the loss, or after that answer: states whose new values the forward pass has made (running
  // statistics) take them; parameters stay.
  Status KeepForwardStates();

  // Result i of the graph, copied to host memory (done when it returns).
  Result<Tensor> Output(std::size_t index) const;
  // As Output into `target` of the right size; allocates nothing.
  Status ReadOutput(std::size_t index, void* target, std::int64_t bytes) const;
  // The loss as a number; only float32 and float64.
  Result<double> Loss() const;

  struct KernelUse {
    std::string op;
    bool reference;
    bool high;  // made as math: high permits
    std::string kernel;
    std::string node;
  };
  std::vector<KernelUse> KernelsUsed() const;
  std::vector<Fallback> Fallbacks() const;  // in the order of the run

 private:
  struct Operand {  // an operand of a step that a fed input may move
    tenon_tensor* view = nullptr;
    Tensor* tensor = nullptr;  // of a reference step
  };
  struct Step {
    enum class Kind : std::uint8_t {
      kPlugin,
      kReference,
      kReorder,
      kCopy,
      kLaunch,  // of a bucket, after copies of gradients that are not computed in it
      kAwait,
      kNothing
    } kind = Kind::kNothing;
    bool random = false;
    graph::NodeId node = graph::kNone;
    std::int32_t (*execute)(tenon_kernel*, const tenon_kernel_call*, tenon_error*) = nullptr;
    tenon_kernel* kernel = nullptr;
    tenon_kernel_call call{};
    std::size_t first_view = 0, inputs = 0, outputs = 0;  // in views_
    std::size_t reference = 0;                            // in references_
    std::uint64_t source = 0, target = 0;                 // kCopy
    std::int64_t bytes = 0;
    graph::ValueId copied = graph::kNone;  // kCopy: value that is the source
    bool forward = false;                  // kCopy: the value is made before the loss
    std::size_t bucket = 0;                // kLaunch, kAwait
  };
  struct ReferenceStep {
    const OpDef* def;
    std::vector<Tensor> inputs, outputs;
    RandomState random;
    bool fallback;  // the tensors are the host's own, copied to and fro
  };
  struct FedInput {
    graph::ValueId value;
    std::int64_t bytes;
    Buffer staged;  // where the device cannot reach host memory
    const void* data = nullptr;
    std::vector<Operand> operands;
  };

  Program(passes::Compilation compilation, Variables& variables, std::uint32_t threads, GradientExchange* exchange)
      : compilation_(std::move(compilation)),
        variables_(variables),
        device_(variables.device()),
        threads_(threads),
        exchange_(exchange) {}
  Status Prepare();
  Status PlaceValues();
  Status PlaceBuckets();
  Status AddNode(graph::NodeId id);
  void AddLaunch(graph::NodeId id);
  void AddAwaits(graph::NodeId id);
  // `kernel` is null for a reorder, which the device itself runs.
  void AddPluginStep(graph::NodeId id, const PluginKernel* kernel, Step step);
  void AddReferenceStep(graph::NodeId id, const ReferenceKernel& kernel, Step step);
  tenon_tensor MakeView(graph::ValueId id) const;
  Tensor MakeTensor(graph::ValueId id) const;
  void LinkFeeds();
  std::uint64_t AddressOf(graph::ValueId id) const;
  Status RunSteps(std::size_t begin, std::size_t end, const RunOptions& options);
  void SetRandom(Step& step, const RunOptions& options) const;
  Status RunProfiled(std::size_t begin, std::size_t end, const RunOptions& options);
  void DefineActivities(ActivityLog& log);
  ActivityKind PhaseOf(std::size_t step) const;
  Status RunStep(Step& step);
  Status RunReference(Step& step);
  Status CallReference(const ReferenceStep& reference, const ReferenceArgs& args);
  Status FailedStep(const Step& step, std::int32_t code, const tenon_error& error) const;
  Status Observe(const Step& step, StepObserver& observer) const;

  passes::Compilation compilation_;
  Variables& variables_;
  Device& device_;
  std::uint32_t threads_;
  GradientExchange* exchange_;
  std::shared_ptr<const Buffer> arena_;  // shared by the programs of a session
  std::vector<Buffer> constants_;
  std::vector<std::uint64_t> addresses_;  // by value, 0: none or fed
  std::deque<Shape> shapes_;              // by value; views point into them
  std::vector<tenon_tensor> views_;       // operands of plugin steps and reorders
  std::vector<graph::ValueId> view_values_;
  std::deque<ReferenceStep> references_;
  std::vector<Step> steps_;
  std::size_t loss_end_ = 0, finite_end_ = 0, launched_end_ = 0;
  std::vector<int> bucket_of_;  // by value: the bucket that it is a sum of and that is not awaited yet, -1: none
  std::vector<FedInput> feeds_;
  std::map<std::string, int, std::less<>> feed_names_;
  std::vector<std::uint64_t> random_keys_;  // by node
  std::vector<std::uint32_t> activities_;   // by step, in the log of the serial below
  std::uint64_t described_in_ = 0;
};

}  // namespace tenon::exec

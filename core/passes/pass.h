#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/graph/target.h"

namespace tenon::passes {

using graph::Graph;
using graph::kNone;
using graph::LayoutId;
using graph::NodeId;
using graph::ValueId;

// The optimiser to append after the gradients: one operator of domain `tenon` over all trained parameters.
// Inputs: learning_rate f32[], with `counts_steps` the step number i64[] from 1, the parameters, then one state per
// parameter for each prefix, then the gradients. Outputs: the new parameters, then the new states.
struct UpdateRule {
  std::string type;  // "SGD", "Adam", "AdamW", "Lamb"
  Attributes attrs;
  bool counts_steps = false;
  std::vector<std::string> state_prefixes;  // "moments." -> state "moments.<parameter>"
  // Parameters that are updated with another rate or other attributes than the rest, in a node of their own.
  struct Group {
    double lr_scale = 1;
    Attributes attrs;
  };
  std::vector<Group> groups;
  std::map<std::string, std::size_t> group_of;  // parameter -> its group; absent: the rest
  std::optional<double> average_decay;          // keeps moving averages in the states "ema.<parameter>"
};
inline constexpr std::string_view kLossScaleInput = "loss_scale";
inline constexpr std::string_view kLossSeedInput = "loss_seed";
inline constexpr std::string_view kLearningRateInput = "learning_rate";
inline constexpr std::string_view kStepInput = "optimizer_step";
inline constexpr std::string_view kAveragePrefix = "ema.";

// Limits of gradients, applied before the update.
struct ClipRule {
  std::optional<double> norm;   // of all gradients together
  std::optional<double> value;  // of each number
};

// Sums of gradients over several batches: states of this prefix, and the inputs of tenon.Accumulate.
inline constexpr std::string_view kSumPrefix = "accumulated.";
inline constexpr std::string_view kWeightInput = "accumulate_weight";
inline constexpr std::string_view kStartInput = "accumulate_start";

// How the gradients of several processes (ranks) are put together: in buckets, each reduced as one, in the order in which
// the backward pass makes them. The first is small, so that the exchange starts early.
struct BucketRule {
  std::int64_t first_bytes = 1 << 20;
  std::int64_t bytes = 25 << 20;
};

// The memory of one bucket: gradients behind each other, at the same places on all ranks.
struct GradientBucket {
  struct Slot {
    std::string parameter;
    Shape shape;               // of the parameter
    ValueId gradient = kNone;  // what this rank has
    ValueId result = kNone;    // the sum over ranks
    std::int64_t offset = 0, bytes = 0;
    bool in_place = false;  // the gradient is computed here; else it is copied before the reduction
  };
  NodeId node = kNone;  // "tenon.AllReduce"
  DType dtype = DType::kF32;
  std::int64_t bytes = 0;
  std::vector<Slot> slots;
};

// Which operators compute in a low precision; parameters, states, losses and what leaves the graph stay float32.
struct Precision {
  enum class Level {
    kO0,    // none
    kO1,    // matrix products, convolutions, attention and Relu; operators that only move elements follow their input
    kO2,    // all but normalisations
    kO3,    // all
    kAuto,  // products; those that lose digits stay float32; the rest follows its inputs
  };
  Level level = Level::kO0;
  DType low = DType::kBF16;       // or float16
  std::vector<std::string> keep;  // layers (patterns of names) and operator types that stay float32
};

// Where the bytes of each value live. Values that share memory share a root.
struct MemoryPlan {
  std::int64_t arena_bytes = 0;
  std::vector<ValueId> root;                   // by value; the value itself when it owns memory
  std::vector<std::int64_t> arena_offset;      // by value, for roots in the arena; -1: not in the arena
  std::vector<std::int64_t> bytes;             // by value, in its layout
  std::vector<std::int64_t> workspace_offset;  // by node; -1: none
  std::vector<graph::Update> copies;           // updates that need a copy at the end of the run
  std::vector<GradientBucket> buckets;         // in the order in which they are reduced
};

struct Pass;

// One graph on its way to a program. Passes read and change it in the order of the pipeline.
struct Compilation {
  Graph graph;
  graph::Target* target = nullptr;  // must outlive the compilation

  // Input of the training passes. Without `loss` there is no backward part; gradients that come from elsewhere (sums of an
  // earlier program) may be set below and are then clipped and used.
  ValueId loss = kNone;
  std::vector<ValueId> trained;  // parameters that get gradients
  Precision precision;
  ValueId loss_scale = kNone;          // an input, f32 scalar: gradients start from it and are divided by it later
  ValueId loss_seed = kNone;           // an input, f32 scalar: what gradients start from, where it is not the scale
  std::vector<std::string> recompute;  // patterns of layers whose results are computed again for the backward pass
  bool accumulate = false;             // the gradients are added to sums, not used
  std::optional<BucketRule> buckets;   // of a run with several ranks
  std::optional<ClipRule> clip;
  std::optional<UpdateRule> update;
  // Layouts that parameters and states have already, by name (another program of the same session chose them).
  std::function<std::optional<LayoutId>(std::string_view name)> pinned_layout;

  // Results.
  std::vector<ValueId> gradients;                              // by position in `trained`; kNone: none flows
  ValueId finite = kNone;                                      // of a scaled loss: are the gradients? An output
  ValueId gradient_norm = kNone;                               // before clipping by norm; an output of the graph
  std::int64_t recomputed = 0;                                 // nodes that are copies of forward ones
  std::map<std::string, int> fusions;                          // rule name -> how often
  std::vector<std::string> notes;                              // refusals and choices, for -v and dry runs
  std::vector<LayoutId> layout;                                // by value, after choose_layouts
  std::vector<std::unique_ptr<graph::PlannedKernel>> kernels;  // by node, after plan_kernels; null: view or reorder
  MemoryPlan memory;

  LayoutId LayoutOf(ValueId id) const {
    return static_cast<std::size_t>(id) < layout.size() ? layout[static_cast<std::size_t>(id)] : graph::kStrided;
  }
  bool training() const { return loss != kNone; }
};

// A named step of the pipeline. `run` returns whether it changed anything; it never logs, times, verifies or calls another
// pass: RunPipeline does all that.
struct Pass {
  std::string_view name;
  std::string_view sentence;
  Result<bool> (*run)(Compilation&);
};

// Called after each pass with its number, name and whether it changed the graph.
using PassObserver = std::function<void(int number, const Pass& pass, bool changed, const Compilation& state)>;

struct PipelineOptions {
  std::vector<std::string> disabled;  // passes to leave out; only those that merely make it faster may be named
  PassObserver observer;
};

std::vector<Pass> Pipeline();
// An error for a name that is no pass, or one that cannot be left out.
Status CheckDisabled(const std::vector<std::string>& disabled);
Status RunPipeline(Compilation& state, const PipelineOptions& options);

// "Reorder" nodes change only the layout of a value; they are made by choose_layouts and run by the device.
inline constexpr std::string_view kReorderType = "Reorder";
bool IsReorder(const graph::Node& node);
// The node needs no kernel: its output is its input seen with other dims.
bool IsView(const Compilation& state, const graph::Node& node);

// "AllReduce" nodes sum the gradients of a bucket over the ranks; they are made by bucket_gradients and run by the gradient
// exchange. Inputs: the parameters, then their gradients; outputs: the sums.
inline constexpr std::string_view kAllReduceType = "AllReduce";
bool IsAllReduce(const graph::Node& node);
// Where the gradients of such a node lie, when a value of a parameter's type and layout takes `bytes_of(parameter)` bytes.
Result<GradientBucket> LayOutBucket(const Graph& graph, NodeId id,
                                    const std::function<Result<std::int64_t>(ValueId parameter)>& bytes_of);

// By value: what a forward pass up to `loss` need not keep when the layers that the patterns pick are computed again. A
// pattern with * and ? picks a layer by the first dotted parts of the names of its nodes ("block1" of "block1.mlp.linear").
// What passes from one picked layer to another is kept, and so are results of random operators.
std::vector<bool> ValuesToRecompute(const Graph& graph, ValueId loss, const std::vector<std::string>& patterns);

// The passes, in alphabetical order; each has a file of its name.
Result<bool> AccumulateGradients(Compilation& state);
Result<bool> AppendUpdate(Compilation& state);
Result<bool> Autodiff(Compilation& state);
Result<bool> BucketGradients(Compilation& state);
Result<bool> ChooseLayouts(Compilation& state);
Result<bool> ClipGradients(Compilation& state);
Result<bool> FoldConstants(Compilation& state);
Result<bool> FuseAfterAutodiff(Compilation& state);
Result<bool> FuseBeforeAutodiff(Compilation& state);
Result<bool> InferShapes(Compilation& state);
Result<bool> MixedPrecision(Compilation& state);
Result<bool> PlanKernels(Compilation& state);
Result<bool> PlanMemory(Compilation& state);
Result<bool> Recompute(Compilation& state);
Result<bool> RemoveUnused(Compilation& state);
Result<bool> ResolvePadding(Compilation& state);
Result<bool> UnscaleGradients(Compilation& state);

}  // namespace tenon::passes

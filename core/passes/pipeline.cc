#include <algorithm>

#include "core/base/text.h"
#include "core/passes/pass.h"

namespace tenon::passes {

// From the network and its loss to a planned program. The order is the documentation.
std::vector<Pass> Pipeline() {
  return {
      {"infer_shapes", "every value gets dtype and shape", InferShapes},
      // Kernels and patterns compare attributes: they see explicit pads only.
      {"resolve_padding", "auto_pad -> pads", ResolvePadding},
      // Algebra before autodiff: fewer nodes to differentiate.
      {"fold_constants", "run reference kernels on constant inputs", FoldConstants},
      {"remove_unused", "drop nodes whose results nobody reads", RemoveUnused},
      // Before autodiff: the gradient of a conversion is the conversion back.
      {"mixed_precision", "convert what operators read to the precision of their level", MixedPrecision},
      // A fused forward and its backward belong together: the device's patterns are matched before gradients exist.
      {"fuse_before_autodiff", "patterns of the device -> fused operators with their own gradients",
       FuseBeforeAutodiff},
      {"autodiff", "append the backward graph", Autodiff},
      {"bucket_gradients", "sum the gradients over the ranks, in buckets, while the backward pass goes on",
       BucketGradients},
      {"unscale_gradients", "undo the scale of the loss, see whether gradients are finite", UnscaleGradients},
      {"clip_gradients", "limit the gradients", ClipGradients},
      {"accumulate_gradients", "add the gradients to sums over several batches", AccumulateGradients},
      {"append_update", "append the optimiser over all parameters", AppendUpdate},
      {"remove_unused_gradients", "drop gradients that nobody asked for", RemoveUnused},
      {"recompute", "copies of forward nodes before the backward nodes that read them", Recompute},
      {"fuse_after_autodiff", "patterns of the device over forward, backward and update", FuseAfterAutodiff},
      // From here on the graph keeps its operators; only reorders are added.
      {"choose_layouts", "pick a layout for each value, insert the fewest reorders", ChooseLayouts},
      {"plan_kernels", "pick a kernel for each node, fix its algorithm and scratch size", PlanKernels},
      {"plan_memory", "offsets in one arena; must be last", PlanMemory},
  };
}

namespace {

constexpr std::string_view kOptional[] = {"fold_constants", "remove_unused", "remove_unused_gradients",
                                          "fuse_before_autodiff", "fuse_after_autodiff"};

}  // namespace

Status CheckDisabled(const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    if (std::find(std::begin(kOptional), std::end(kOptional), name) != std::end(kOptional)) continue;
    std::vector<std::string> known(std::begin(kOptional), std::end(kOptional));
    return InvalidArgument("Pass '{}' cannot be disabled; the passes that can be are {}.", name, JoinAnd(known));
  }
  return {};
}

Status RunPipeline(Compilation& state, const PipelineOptions& options) {
  TENON_TRY(CheckDisabled(options.disabled));
  int number = 0;
  for (const Pass& pass : Pipeline()) {
    ++number;
    const auto& off = options.disabled;
    if (std::find(off.begin(), off.end(), pass.name) != off.end()) continue;
    auto changed = pass.run(state);
    if (!changed.ok())
      return std::move(changed).status().While(
          fmt::format("running pass '{}' on graph '{}'", pass.name, state.graph.name));
    if (*changed) TENON_TRY_WHILE(graph::Verify(state.graph), "verifying the graph after pass '{}'", pass.name);
    if (options.observer) options.observer(number, pass, *changed, state);
  }
  return {};
}

bool IsReorder(const graph::Node& node) {
  return node.def == nullptr && node.domain == "tenon" && node.type == kReorderType;
}

bool IsView(const Compilation& state, const graph::Node& node) {
  if (node.def == nullptr || !node.def->is_view() || node.outputs.empty() || node.outputs[0] == kNone) return false;
  return state.LayoutOf(node.inputs[0]) == state.LayoutOf(node.outputs[0]) &&
         (state.LayoutOf(node.inputs[0]) == graph::kStrided ||
          state.graph.value(node.inputs[0]).type == state.graph.value(node.outputs[0]).type);
}

}  // namespace tenon::passes

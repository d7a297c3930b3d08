#include "core/passes/pass.h"

namespace tenon::passes {

// Gradients of a scaled loss -> gradients of the loss, and whether all of them are finite.
Result<bool> UnscaleGradients(Compilation& state) {
  if (state.loss_scale == kNone || state.gradients.empty()) return false;
  Graph& graph = state.graph;
  std::vector<ValueId> all;
  for (const ValueId gradient : state.gradients) {
    if (gradient != kNone) all.push_back(gradient);
  }
  TENON_ASSIGN(const NodeId check, graph.AddNode("tenon", "AllFinite", all, {}, 1, "unscale.finite"));
  state.finite = graph.node(check).outputs[0];
  graph.outputs.push_back(state.finite);
  const ValueId quotient[] = {graph.AddConstant("unscale.one", Tensor::Scalar(1.0F)), state.loss_scale};
  TENON_ASSIGN(const NodeId factor, graph.AddNode("", "Div", quotient, {}, 1, "unscale.factor"));
  for (ValueId& gradient : state.gradients) {
    if (gradient == kNone) continue;
    const ValueId product[] = {gradient, graph.node(factor).outputs[0]};
    TENON_ASSIGN(const NodeId node, graph.AddNode("", "Mul", product, {}, 1, "unscale"));
    gradient = graph.node(node).outputs[0];
  }
  return true;
}

}  // namespace tenon::passes

#include "core/passes/pass.h"

namespace tenon::passes {
namespace {

bool IsWindowed(const graph::Node& node) {
  return node.domain.empty() && (node.type == "Conv" || node.type == "MaxPool" || node.type == "AveragePool");
}

std::vector<std::int64_t> OnesIfEmpty(std::vector<std::int64_t> values, int count) {
  if (values.empty()) values.assign(static_cast<std::size_t>(count), 1);
  return values;
}

// Fills kernel_shape, strides, dilations and pads as the operator's rule reads them.
bool Resolve(const Graph& graph, graph::Node& node) {
  const SymShape& x = graph.value(node.inputs[0]).type.shape;
  const int spatial = x.rank() - 2;
  if (spatial < 1) return false;
  std::vector<std::int64_t> kernel = node.attrs.Ints("kernel_shape", {});
  if (kernel.empty()) {
    const SymShape& w = graph.value(node.inputs[1]).type.shape;
    for (int i = 0; i < spatial; ++i) kernel.push_back(w[2 + i].value());
  }
  const auto strides = OnesIfEmpty(node.attrs.Ints("strides", {}), spatial);
  const auto dilations = OnesIfEmpty(node.attrs.Ints("dilations", {}), spatial);
  std::vector<std::int64_t> pads = node.attrs.Ints("pads", {});
  const std::string mode = node.attrs.Text("auto_pad", "NOTSET");
  if (pads.empty() || mode != "NOTSET") pads.assign(static_cast<std::size_t>(2 * spatial), 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (int i = 0; i < spatial; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      if (!x[2 + i].known()) return false;
      const std::int64_t in = x[2 + i].value();
      const std::int64_t out = (in + strides[axis] - 1) / strides[axis];
      const std::int64_t reach = (kernel[axis] - 1) * dilations[axis] + 1;
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * strides[axis] + reach - in);
      const std::int64_t less = total / 2;
      pads[axis] = mode == "SAME_UPPER" ? less : total - less;  // the odd element goes to the end for UPPER
      pads[axis + static_cast<std::size_t>(spatial)] = total - pads[axis];
    }
  }
  const Attributes before = node.attrs;
  node.attrs.Set("kernel_shape", kernel);
  node.attrs.Set("strides", strides);
  node.attrs.Set("dilations", dilations);
  node.attrs.Set("pads", pads);
  node.attrs.Set("auto_pad", std::string("NOTSET"));
  return !(before == node.attrs);
}

}  // namespace

// auto_pad=SAME_UPPER -> pads=[...]; absent window attributes get the values that the operator's rule assumes.
Result<bool> ResolvePadding(Compilation& state) {
  bool changed = false;
  for (const NodeId id : state.graph.LiveNodes()) {
    graph::Node& node = state.graph.node(id);
    if (IsWindowed(node) && Resolve(state.graph, node)) changed = true;
  }
  return changed;
}

}  // namespace tenon::passes

#include "engine/world.h"

namespace tenon::hccl {

std::string World::Describe() const {
  const std::string inside = "shared memory, reduced in rank order";
  if (one_node()) return std::to_string(size) + (size == 1 ? " rank" : " ranks") + " of one node through " + inside;
  std::string sizes;
  for (const auto& ranks : nodes) sizes += (sizes.empty() ? "" : " + ") + std::to_string(ranks.size());
  return std::to_string(size) + " ranks on " + std::to_string(nodes.size()) + " nodes (" + sizes + "): inside " +
         inside + "; between over TCP (Gloo), direct reduce-scatter and all-gather in node order, " +
         (even() ? "every rank with its like" : "first ranks");
}

}  // namespace tenon::hccl

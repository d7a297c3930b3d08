// The ranks of a communicator, as one of them sees them once all have joined.
#pragma once

#include <memory>
#include <vector>

#include "net/wire.h"
#include "node/files.h"
#include "node/node.h"

namespace tenon::hccl {

struct World {
  uint32_t rank = 0, size = 1;
  // Ranks by node, ascending; nodes by their first rank.
  std::vector<std::vector<uint32_t>> nodes;
  uint32_t my_node = 0;
  std::unique_ptr<Node> node;
  std::unique_ptr<Files> files;
  std::unique_ptr<Wire> wire;  // NULL: one node

  bool one_node() const { return nodes.size() == 1; }
  bool leads() const { return node->me() == 0; }
  // Do all nodes have equally many ranks? Then each of them talks to its like on the other nodes, else only the first.
  bool even() const {
    for (const auto& ranks : nodes) {
      if (ranks.size() != nodes[0].size()) return false;
    }
    return true;
  }
  // The ranks that this one talks to between nodes, by node; itself at my_node.
  std::vector<uint32_t> Counterparts() const {
    std::vector<uint32_t> found;
    for (const auto& ranks : nodes) found.push_back(ranks[even() ? node->me() : 0]);
    return found;
  }
  std::string Describe() const;
};

}  // namespace tenon::hccl

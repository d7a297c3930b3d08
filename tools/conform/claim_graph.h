// A small graph behind tenon_graph_api, whose memory becomes unreadable when the call that may look at it is over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/abi/subgraph.h"

namespace tenon::conform {

struct ClaimNode {
  std::string op;
  std::vector<std::uint64_t> inputs;  // value ids
  std::uint64_t output;
};

// Values 1.. are the graph's inputs (float32[4,8]), then what nodes make.
class ClaimGraph {
 public:
  ClaimGraph(std::vector<ClaimNode> nodes, std::vector<std::uint64_t> inputs, std::vector<std::uint64_t> outputs);
  ~ClaimGraph();
  ClaimGraph(const ClaimGraph&) = delete;
  ClaimGraph& operator=(const ClaimGraph&) = delete;

  const tenon_graph* handle() const { return reinterpret_cast<const tenon_graph*>(this); }
  static const tenon_graph_api* Api();
  const std::vector<ClaimNode>& nodes() const { return nodes_; }
  std::uint64_t id(std::size_t node) const { return node + 1; }
  // From now on every pointer that the graph gave out is unreadable.
  void Close();
  // Is there a path from a node of the set out of it and back in?
  bool Convex(const std::vector<std::uint64_t>& set) const;

 private:
  friend struct ClaimGraphSlots;
  std::vector<ClaimNode> nodes_;
  std::vector<std::uint64_t> inputs_, outputs_;
  // One mapping that holds everything that the plugin sees.
  struct Page;
  Page* page_;
};

}  // namespace tenon::conform

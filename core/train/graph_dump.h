#pragma once

#include <string>

#include "core/passes/pass.h"

namespace tenon {

// Writes graphs while they are compiled: `<folder>/NN_<pass>_<seq4>.ir`, NN the pass, seq4 a counter over the whole run.
// Level 0 nothing, 1 the first and the last, 2 after each pass ("(unchanged)" in the first line where it changed nothing),
// 3 with layouts and memory, and a .dot beside each.
class GraphDump {
 public:
  GraphDump(std::string folder, int level) : folder_(std::move(folder)), level_(level) {}
  passes::PassObserver Observer();
  const Status& status() const { return status_; }  // first write failure

 private:
  void Write(int number, const passes::Pass& pass, bool changed, const passes::Compilation& state);

  std::string folder_;
  int level_;
  Status status_;
};

// The graph with a comment after each node: layouts of its values and where they lie.
std::string PrintWithPlan(const passes::Compilation& state);
// Graphviz.
std::string PrintDot(const graph::Graph& graph);

}  // namespace tenon

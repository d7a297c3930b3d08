#pragma once

#include <string>
#include <vector>

namespace tenon {

// tenon graph show FILE: checks a graph in text form and prints it, or counts its operators.
struct GraphShowOptions {
  std::string file;
  bool dot = false;  // Graphviz
  bool json =
      false;  // {"name", "nodes", "operators": {type: count}, "inputs": [...], "parameters": [...], "outputs": [...]}
};
int RunGraphShow(const GraphShowOptions& options);

// tenon graph diff A B: nodes that are in one graph only or differ, by name; exit code 1 when there are any.
struct GraphDiffOptions {
  std::string a, b;
  bool json = false;
};
int RunGraphDiff(const GraphDiffOptions& options);

}  // namespace tenon

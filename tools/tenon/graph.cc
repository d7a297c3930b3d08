#include "tools/tenon/graph.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/graph/graph.h"
#include "core/train/graph_dump.h"
#include "tools/cli/cli.h"

namespace tenon {
namespace {

Result<graph::Graph> LoadGraph(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(Code::kNotFound, "The file '{}' cannot be opened.", path);
  std::stringstream text;
  text << in.rdbuf();
  TENON_ASSIGN(graph::Graph parsed, graph::Parse(text.str(), path));
  TENON_TRY_WHILE(graph::Verify(parsed), "verifying the graph of '{}'", path);
  return parsed;
}

nlohmann::json Describe(const graph::Graph& graph) {
  nlohmann::json out;
  out["name"] = graph.name;
  out["nodes"] = graph.LiveNodes().size();
  out["operators"] = nlohmann::json::object();
  for (const graph::NodeId id : graph.LiveNodes()) {
    nlohmann::json& count = out["operators"][graph.node(id).FullName()];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  const auto add = [&](const char* key, graph::ValueId id) {
    out[key].push_back({{"name", graph.value(id).name}, {"type", graph.value(id).type.ToString()}});
  };
  for (const char* key : {"inputs", "parameters", "states", "outputs"}) out[key] = nlohmann::json::array();
  for (graph::ValueId id = 0; id < graph.num_values(); ++id) {
    switch (graph.value(id).kind) {
      case graph::ValueKind::kInput:
        add("inputs", id);
        break;
      case graph::ValueKind::kParameter:
        add("parameters", id);
        break;
      case graph::ValueKind::kState:
        add("states", id);
        break;
      default:
        break;
    }
  }
  for (const graph::ValueId id : graph.outputs) add("outputs", id);
  return out;
}

// One line per node that says all but its place in the file.
std::map<std::string, std::string> NodeLines(const graph::Graph& graph) {
  std::map<std::string, std::string> lines;
  const auto name = [&](graph::ValueId id) {
    return id == graph::kNone ? std::string("_") : "%" + graph.value(id).name;
  };
  for (const graph::NodeId id : graph.LiveNodes()) {
    const graph::Node& node = graph.node(id);
    std::string line = node.FullName() + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) line += (i > 0 ? ", " : "") + name(node.inputs[i]);
    line += ")";
    for (const auto& item : node.attrs.items()) line += fmt::format(" {}={}", item.first, ToString(item.second));
    for (const graph::ValueId out : node.outputs) {
      if (out != graph::kNone) line += fmt::format(" -> {}: {}", name(out), graph.value(out).type.ToString());
    }
    lines[node.name] = line;
  }
  return lines;
}

}  // namespace

int RunGraphShow(const GraphShowOptions& options) {
  auto graph = LoadGraph(options.file);
  if (!graph.ok()) return cli::Report(graph.status());
  if (options.json) {
    std::printf("%s\n", Describe(*graph).dump(1).c_str());
  } else {
    std::fputs((options.dot ? PrintDot(*graph) : graph::Print(*graph)).c_str(), stdout);
  }
  return 0;
}

int RunGraphDiff(const GraphDiffOptions& options) {
  auto a = LoadGraph(options.a);
  if (!a.ok()) return cli::Report(a.status());
  auto b = LoadGraph(options.b);
  if (!b.ok()) return cli::Report(b.status());
  const auto left = NodeLines(*a), right = NodeLines(*b);
  nlohmann::json differences = nlohmann::json::array();
  for (const auto& node : left) {
    const auto found = right.find(node.first);
    if (found == right.end()) {
      differences.push_back({{"node", node.first}, {"a", node.second}, {"b", nullptr}});
    } else if (found->second != node.second) {
      differences.push_back({{"node", node.first}, {"a", node.second}, {"b", found->second}});
    }
  }
  for (const auto& node : right) {
    if (left.count(node.first) == 0) differences.push_back({{"node", node.first}, {"a", nullptr}, {"b", node.second}});
  }
  if (options.json) {
    std::printf("%s\n", differences.dump(1).c_str());
  } else {
    for (const auto& difference : differences) {
      std::printf("%s\n", difference["node"].get<std::string>().c_str());
      if (!difference["a"].is_null()) std::printf("  - %s\n", difference["a"].get<std::string>().c_str());
      if (!difference["b"].is_null()) std::printf("  + %s\n", difference["b"].get<std::string>().c_str());
    }
    std::printf("%zu nodes differ (%zu in A, %zu in B)\n", differences.size(), left.size(), right.size());
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace tenon

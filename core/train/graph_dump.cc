#include "core/train/graph_dump.h"

#include <atomic>
#include <filesystem>

#include "core/platform/atomic_file.h"

namespace tenon {
namespace {

std::atomic<int> g_sequence{0};  // over the whole process: the real order of files

std::string PlaceOf(const passes::Compilation& state, graph::ValueId id) {
  const auto index = static_cast<std::size_t>(id);
  std::string text = state.target == nullptr ? "strided" : state.target->LayoutName(state.LayoutOf(id));
  const passes::MemoryPlan& memory = state.memory;
  if (index >= memory.root.size()) return text;
  const auto root = static_cast<std::size_t>(memory.root[index]);
  if (memory.arena_offset[root] >= 0) {
    text += fmt::format(", {} bytes at {}", memory.bytes[index], memory.arena_offset[root]);
  } else {
    text += fmt::format(", {} bytes in %{}", memory.bytes[index], state.graph.value(memory.root[index]).name);
  }
  return text;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string PrintWithPlan(const passes::Compilation& state) {
  std::string text = graph::Print(state.graph);
  text += "# values\n";
  for (const graph::NodeId id : state.graph.LiveNodes()) {
    const graph::Node& node = state.graph.node(id);
    for (const graph::ValueId out : node.outputs) {
      if (out != graph::kNone) text += fmt::format("# %{}: {}\n", state.graph.value(out).name, PlaceOf(state, out));
    }
    if (static_cast<std::size_t>(id) < state.kernels.size() && state.kernels[static_cast<std::size_t>(id)])
      text += fmt::format("#   node '{}' runs {}\n", node.name, state.kernels[static_cast<std::size_t>(id)]->name());
  }
  return text;
}

std::string PrintDot(const graph::Graph& graph) {
  std::string text = "digraph \"" + Escaped(graph.name) + "\" {\n  node [shape=box];\n";
  for (const graph::NodeId id : graph.LiveNodes())
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", id, Escaped(graph.node(id).name),
                        Escaped(graph.node(id).FullName()));
  for (const graph::NodeId id : graph.LiveNodes()) {
    for (const graph::ValueId in : graph.node(id).inputs) {
      if (in == graph::kNone) continue;
      const graph::ValueInfo& value = graph.value(in);
      if (value.kind == graph::ValueKind::kResult) {
        text += fmt::format("  n{} -> n{} [label=\"{}\"];\n", value.producer, id, Escaped(value.type.ToString()));
      } else {
        text += fmt::format("  v{} [label=\"{}\", shape=ellipse];\n  v{} -> n{} [label=\"{}\"];\n", in,
                            Escaped(value.name), in, id, Escaped(value.type.ToString()));
      }
    }
  }
  return text + "}\n";
}

passes::PassObserver GraphDump::Observer() {
  if (level_ == 0 || folder_.empty()) return nullptr;
  return [this](int number, const passes::Pass& pass, bool changed, const passes::Compilation& state) {
    const bool ends = number == 1 || number == static_cast<int>(passes::Pipeline().size());
    if (status_.ok() && (level_ >= 2 || ends)) Write(number, pass, changed, state);
  };
}

void GraphDump::Write(int number, const passes::Pass& pass, bool changed, const passes::Compilation& state) {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);  // a failure shows when the file is written
  const std::string stem = fmt::format("{}/{:02}_{}_{:04}", folder_, number, pass.name, g_sequence++);
  std::string text = fmt::format("# {}: {}{}\n", pass.name, pass.sentence, changed ? "" : " (unchanged)");
  text += level_ >= 3 ? PrintWithPlan(state) : graph::Print(state.graph);
  status_ = WriteFileAtomically(stem + ".ir", text);
  if (status_.ok() && level_ >= 3) status_ = WriteFileAtomically(stem + ".dot", PrintDot(state.graph));
}

}  // namespace tenon

#include "tools/conform/claim_graph.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace tenon::conform {

constexpr std::size_t kMaxNodes = 64;

struct ClaimGraph::Page {
  char names[kMaxNodes][16];
  char value_names[2 * kMaxNodes][16];
  std::uint64_t node_inputs[kMaxNodes][4];
  std::uint64_t node_outputs[kMaxNodes];
  std::uint64_t readers[2 * kMaxNodes][kMaxNodes];
  std::uint64_t graph_inputs[kMaxNodes], graph_outputs[kMaxNodes];
  std::int64_t dims[2];
  tenon_dim symbols[2];
};

ClaimGraph::ClaimGraph(std::vector<ClaimNode> nodes, std::vector<std::uint64_t> inputs,
                       std::vector<std::uint64_t> outputs)
    : nodes_(std::move(nodes)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page_ = static_cast<Page*>(memory);
  page_->dims[0] = 4;
  page_->dims[1] = 8;
  for (int axis = 0; axis < 2; ++axis) page_->symbols[axis] = {page_->dims[axis], 0, TENON_DIM_KNOWN};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::strncpy(page_->names[i], nodes_[i].op.c_str(), sizeof(page_->names[i]) - 1);
    std::copy(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), page_->node_inputs[i]);
    page_->node_outputs[i] = nodes_[i].output;
  }
  for (std::size_t value = 0; value < 2 * kMaxNodes; ++value) {
    const std::string name = "v" + std::to_string(value);
    std::strncpy(page_->value_names[value], name.c_str(), sizeof(page_->value_names[value]) - 1);
  }
  std::copy(inputs_.begin(), inputs_.end(), page_->graph_inputs);
  std::copy(outputs_.begin(), outputs_.end(), page_->graph_outputs);
}

ClaimGraph::~ClaimGraph() { ::munmap(page_, sizeof(Page)); }

void ClaimGraph::Close() { ::mprotect(page_, sizeof(Page), PROT_NONE); }

struct ClaimGraphSlots {
  static const ClaimGraph& Of(const tenon_graph* graph) { return *reinterpret_cast<const ClaimGraph*>(graph); }
  static tenon_str Text(const char* text) { return {text, std::strlen(text)}; }
  static bool Known(const ClaimGraph& graph, std::uint64_t value) {
    return std::count(graph.inputs_.begin(), graph.inputs_.end(), value) > 0 || Producer(graph.handle(), value) != 0;
  }

  static std::uint64_t NodeCount(const tenon_graph* graph) { return Of(graph).nodes_.size(); }
  static std::int32_t Nodes(const tenon_graph* handle, std::uint64_t first, std::uint64_t count, tenon_graph_node* out,
                            std::uint64_t stride) {
    const ClaimGraph& graph = Of(handle);
    if (first + count > graph.nodes_.size()) return TENON_OUT_OF_RANGE;
    for (std::uint64_t i = first; i < first + count; ++i) {
      tenon_graph_node node = TENON_INIT(tenon_graph_node);
      node.id = graph.id(i);
      node.name = node.op_type = Text(graph.page_->names[i]);
      node.version = 1;
      node.phase = TENON_PHASE_FORWARD;
      node.attribute_stride = sizeof(tenon_attribute);
      node.inputs = graph.page_->node_inputs[i];
      node.outputs = &graph.page_->node_outputs[i];
      node.input_count = static_cast<std::uint32_t>(graph.nodes_[i].inputs.size());
      node.output_count = 1;
      std::memcpy(reinterpret_cast<char*>(out) + (i - first) * stride, &node,
                  std::min<std::uint64_t>(stride, sizeof(node)));
    }
    return TENON_OK;
  }
  static std::int32_t Value(const tenon_graph* graph, std::uint64_t value, tenon_value_desc* out) {
    if (!Known(Of(graph), value)) return TENON_NOT_FOUND;
    *out = TENON_INIT(tenon_value_desc);
    out->dtype = TENON_DTYPE_F32;
    out->rank = 2;
    out->dims = Of(graph).page_->dims;
    return TENON_OK;
  }
  static std::int32_t ValueDims(const tenon_graph* graph, std::uint64_t value, std::int32_t* rank,
                                const tenon_dim** dims) {
    if (!Known(Of(graph), value)) return TENON_NOT_FOUND;
    *rank = 2;
    *dims = Of(graph).page_->symbols;
    return TENON_OK;
  }
  static std::uint64_t Producer(const tenon_graph* graph, std::uint64_t value) {
    const auto& nodes = Of(graph).nodes_;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].output == value) return i + 1;
    }
    return 0;
  }
  static std::int32_t Readers(const tenon_graph* handle, std::uint64_t value, const std::uint64_t** out,
                              std::uint64_t* count) {
    const ClaimGraph& graph = Of(handle);
    if (!Known(graph, value)) return TENON_NOT_FOUND;
    *count = 0;
    *out = graph.page_->readers[value];
    for (std::size_t i = 0; i < graph.nodes_.size(); ++i) {
      const auto& inputs = graph.nodes_[i].inputs;
      if (std::count(inputs.begin(), inputs.end(), value) > 0) graph.page_->readers[value][(*count)++] = i + 1;
    }
    return TENON_OK;
  }
  static std::int32_t Boundary(const tenon_graph* handle, const std::uint64_t** inputs, std::uint64_t* input_count,
                               const std::uint64_t** outputs, std::uint64_t* output_count) {
    const ClaimGraph& graph = Of(handle);
    *inputs = graph.page_->graph_inputs;
    *input_count = graph.inputs_.size();
    *outputs = graph.page_->graph_outputs;
    *output_count = graph.outputs_.size();
    return TENON_OK;
  }
  static tenon_str ValueName(const tenon_graph* graph, std::uint64_t value) {
    return Text(Of(graph).page_->value_names[value % (2 * kMaxNodes)]);
  }
};

const tenon_graph_api* ClaimGraph::Api() {
  static const tenon_graph_api api = [] {
    tenon_graph_api table = TENON_INIT(tenon_graph_api);
    table.node_count = &ClaimGraphSlots::NodeCount;
    table.nodes = &ClaimGraphSlots::Nodes;
    table.value = &ClaimGraphSlots::Value;
    table.value_dims = &ClaimGraphSlots::ValueDims;
    table.producer = &ClaimGraphSlots::Producer;
    table.readers = &ClaimGraphSlots::Readers;
    table.boundary = &ClaimGraphSlots::Boundary;
    table.value_name = &ClaimGraphSlots::ValueName;
    return table;
  }();
  return &api;
}

bool ClaimGraph::Convex(const std::vector<std::uint64_t>& set) const {
  const auto inside = [&set](std::uint64_t node) { return std::count(set.begin(), set.end(), node) > 0; };
  // Nodes come after their inputs: one pass marks what is reached from the set over a node outside of it.
  std::vector<bool> outside(nodes_.size() + 1, false);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    bool from_set = false, left = false;
    for (const std::uint64_t value : nodes_[i].inputs) {
      const std::uint64_t producer = ClaimGraphSlots::Producer(handle(), value);
      if (producer == 0) continue;
      from_set = from_set || inside(producer);
      left = left || outside[producer];
    }
    if (inside(i + 1) && left) return false;
    outside[i + 1] = !inside(i + 1) && (from_set || left);
  }
  return true;
}

}  // namespace tenon::conform

// Mutations of subgraph claims.
#include <string>
#include <vector>

#include "mutations.h"

namespace mutant {
namespace {

int32_t Claim(tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api, const tenon_graph* graph,
              const tenon_claim_sink* sink, tenon_error* error) {
  return Sound().subgraph.claim(plugin, device, api, graph, sink, error);
}

std::vector<tenon_graph_node> NodesOf(const tenon_graph_api* api, const tenon_graph* graph) {
  std::vector<tenon_graph_node> nodes(api->node_count(graph));
  api->nodes(graph, 0, nodes.size(), nodes.data(), sizeof(tenon_graph_node));
  return nodes;
}

void ClaimsAround(Tables* tables) {
  tables->subgraph.claim = [](tenon_plugin*, tenon_device*, const tenon_graph_api* api, const tenon_graph* graph,
                              const tenon_claim_sink* sink, tenon_error*) {
    // All that is known in one set, whatever lies between.
    std::vector<uint64_t> known;
    for (const tenon_graph_node& node : NodesOf(api, graph)) {
      if (View(node.op_type) != "Unknown") known.push_back(node.id);
    }
    tenon_claim claim = TENON_INIT(tenon_claim);
    claim.nodes = known.data();
    claim.node_count = known.size();
    return sink->claim(sink->user, &claim);
  };
}

void ClaimsByTurns(Tables* tables) {
  tables->subgraph.claim = [](tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api,
                              const tenon_graph* graph, const tenon_claim_sink* sink, tenon_error* error) {
    static int calls = 0;
    if (++calls % 2 == 0) return static_cast<int32_t>(TENON_OK);
    return Claim(plugin, device, api, graph, sink, error);
  };
}

void KeepsPointers(Tables* tables) {
  tables->subgraph.claim = [](tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api,
                              const tenon_graph* graph, const tenon_claim_sink* sink, tenon_error* error) {
    static auto* names = new std::vector<tenon_str>;
    static size_t length = 0;
    for (const tenon_str& name : *names) length += std::string(View(name)).size();
    for (const tenon_graph_node& node : NodesOf(api, graph)) names->push_back(node.name);
    return Claim(plugin, device, api, graph, sink, error);
  };
}

void DeclinesWithoutText(Tables* tables) {
  tables->subgraph.compile = [](tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api,
                                const tenon_subgraph_part* parts, uint64_t count, uint64_t stride,
                                tenon_executable** out, tenon_error* error) {
    out[0] = nullptr;
    if (parts->complete == 0) return static_cast<int32_t>(TENON_UNIMPLEMENTED);
    return Sound().subgraph.compile(plugin, device, api, parts, count, stride, out, error);
  };
}

void RejectsSilently(Tables* tables) {
  tables->subgraph.claim = [](tenon_plugin* plugin, tenon_device* device, const tenon_graph_api* api,
                              const tenon_graph* graph, const tenon_claim_sink* sink, tenon_error* error) {
    tenon_claim_sink quiet = *sink;
    quiet.reject = [](void*, uint64_t, int32_t, tenon_str) {};
    return Claim(plugin, device, api, graph, &quiet, error);
  };
}

constexpr Mutation kMutations[] = {
    {"claims_around", ClaimsAround},       {"claims_by_turns", ClaimsByTurns},
    {"keeps_pointers", KeepsPointers},     {"declines_without_text", DeclinesWithoutText},
    {"rejects_silently", RejectsSilently},
};

}  // namespace

const Mutation* FindClaimMutation(std::string_view name) { return FindIn(kMutations, name); }

}  // namespace mutant

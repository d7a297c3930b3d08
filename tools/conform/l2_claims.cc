// L2: claims of subgraphs, and reasons. Cases 65 to 70.
#include <map>
#include <set>

#include "tools/conform/cases.h"
#include "tools/conform/claim_graph.h"
#include "tools/conform/kernel_calls.h"

namespace tenon::conform {
namespace {

// What a plugin said about one graph.
struct Claims {
  struct One {
    std::vector<std::uint64_t> nodes;
    std::int32_t priority = 0;
    std::uint64_t tag = 0;
    bool operator==(const One&) const = default;
  };
  std::vector<One> claims;
  std::map<std::uint64_t, std::string> rejected;
};

// A diamond, a chain, and operators that nobody knows in between: claims of "all that I can" must leave holes.
std::unique_ptr<ClaimGraph> Graph(int which) {
  switch (which) {
    case 0:
      return std::make_unique<ClaimGraph>(
          std::vector<ClaimNode>{
              {"Relu", {1}, 2}, {"Tanh", {2}, 3}, {"Unknown", {2}, 4}, {"Add", {3, 4}, 5}, {"Relu", {5}, 6}},
          std::vector<std::uint64_t>{1}, std::vector<std::uint64_t>{6});
    case 1:
      return std::make_unique<ClaimGraph>(
          std::vector<ClaimNode>{{"Relu", {1}, 2}, {"Relu", {2}, 3}, {"Sigmoid", {3}, 4}, {"Neg", {4}, 5}},
          std::vector<std::uint64_t>{1}, std::vector<std::uint64_t>{5});
    default:
      return std::make_unique<ClaimGraph>(std::vector<ClaimNode>{{"Unknown", {1}, 2},
                                                                 {"Relu", {2}, 3},
                                                                 {"Unknown", {3}, 4},
                                                                 {"Mul", {3, 4}, 5},
                                                                 {"Relu", {5}, 6},
                                                                 {"Add", {6, 3}, 7}},
                                          std::vector<std::uint64_t>{1}, std::vector<std::uint64_t>{7});
  }
}
constexpr int kGraphs = 3;

Claims Ask(Session& s, const tenon_subgraph_vtable& table, const ClaimGraph& graph) {
  Claims said;
  tenon_claim_sink sink = TENON_INIT(tenon_claim_sink);
  sink.user = &said;
  sink.claim = [](void* user, const tenon_claim* claim) -> std::int32_t {
    static_cast<Claims*>(user)->claims.push_back(
        {{claim->nodes, claim->nodes + claim->node_count}, claim->priority, claim->tag});
    return TENON_OK;
  };
  sink.reject = [](void* user, std::uint64_t node, std::int32_t, tenon_str text) {
    static_cast<Claims*>(user)->rejected[node] = std::string(View(text));
  };
  tenon_error error;
  const std::int32_t code = TENON_CALL(tenon.subgraph, &table, claim, s.plugin(), s.device(), ClaimGraph::Api(),
                                       graph.handle(), &sink, &error);
  s.Ok(code, error, "look at a graph");
  return said;
}

const tenon_subgraph_vtable& NeedClaims(Session& s) {
  const auto* table = s.Table<tenon_subgraph_vtable>();
  if (table == nullptr || table->claim == nullptr) s.context().Skip("The plugin claims no subgraphs.");
  return *table;
}

}  // namespace

void ConvexClaims(Context& context) {
  Session s(context);
  const auto& table = NeedClaims(s);
  for (int which = 0; which < kGraphs; ++which) {
    const auto graph = Graph(which);
    for (const Claims::One& claim : Ask(s, table, *graph).claims) {
      context.Require(!claim.nodes.empty(), "A claim names no node.");
      for (const std::uint64_t node : claim.nodes)
        context.Require(node >= 1 && node <= graph->nodes().size(), "A claim names node {}, which is not in the graph.",
                        node);
      context.Require(graph->Convex(claim.nodes), "In graph {} a path leaves a claimed set of {} nodes and comes back.",
                      which, claim.nodes.size());
    }
  }
  context.Require(true, "{}", "");
}

void SameClaims(Context& context) {
  Session s(context);
  const auto& table = NeedClaims(s);
  for (int which = 0; which < kGraphs; ++which) {
    const auto graph = Graph(which);
    const Claims first = Ask(s, table, *graph);
    for (int round = 0; round < 5; ++round) {
      const auto copy = Graph(which);
      const Claims again = Ask(s, table, *copy);
      context.Require(again.claims == first.claims, "The same graph is claimed otherwise at call {}.", round);
    }
  }
}

void GraphPointers(Context& context) {
  Session s(context);
  const auto& table = NeedClaims(s);
  std::vector<std::unique_ptr<ClaimGraph>> closed;
  for (int round = 0; round < 3; ++round) {
    for (int which = 0; which < kGraphs; ++which) {
      auto graph = Graph(which);
      Ask(s, table, *graph);
      // Any pointer that was kept now faults when the next graph is looked at.
      graph->Close();
      closed.push_back(std::move(graph));
    }
  }
  tenon_error error;
  if (s.Table<tenon_op_vtable>() != nullptr && s.Table<tenon_op_vtable>()->release_caches != nullptr)
    TENON_CALL(tenon.op, s.Table<tenon_op_vtable>(), release_caches, s.plugin(), &error);
  context.Require(closed.size() == 9, "{} graphs were looked at.", closed.size());
}

void SubsetOfClaim(Context& context) {
  Session s(context);
  const auto& table = NeedClaims(s);
  if (table.compile == nullptr || table.executable_destroy == nullptr)
    context.Skip("The plugin claims but compiles nothing.");
  int compiled = 0;
  for (int which = 0; which < kGraphs; ++which) {
    const auto graph = Graph(which);
    for (const Claims::One& claim : Ask(s, table, *graph).claims) {
      // The first node alone, as a host gives it that split the claim.
      const ClaimNode& node = graph->nodes()[claim.nodes[0] - 1];
      const ClaimGraph part({node}, node.inputs, {node.output});
      tenon_subgraph_part record = TENON_INIT(tenon_subgraph_part);
      record.graph = part.handle();
      record.tag = claim.tag;
      record.complete = claim.nodes.size() == 1 ? 1 : 0;
      record.thread_budget = 2;
      tenon_executable* made = nullptr;
      tenon_error error;
      const std::int32_t code = TENON_CALL(tenon.subgraph, &table, compile, s.plugin(), s.device(), ClaimGraph::Api(),
                                           &record, 1, sizeof(record), &made, &error);
      context.Require(code == TENON_OK || (code == TENON_UNIMPLEMENTED && made == nullptr),
                      "compile of a subset of a claim answers {}: {}", code, error.message_text());
      context.Require(code == TENON_OK || !error.message_text().empty(), "compile declines without a text.");
      if (made != nullptr) TENON_CALL(tenon.subgraph, &table, executable_destroy, made);
      ++compiled;
    }
  }
  if (compiled == 0) context.Skip("The plugin claims nothing of the kit's graphs.");
}

void BlobRoundTrip(Context& context) {
  context.Skip("Validation of compiled blobs is reserved (c.20): no slot of this ABI version makes or reads one.");
}

void ReasonsForRefusals(Context& context) {
  Session s(context);
  int refused = 0;
  // Kernels: every refusal says why.
  if (s.Table<tenon_op_vtable>() != nullptr) {
    for (const KernelOf& kernel : KernelsOf(s)) {
      if (kernel.op == nullptr) continue;
      for (const DType dtype : TriedTypes()) {
        for (const OpCall& call : SampleCalls(*kernel.op, dtype)) {
          std::string reason;
          KernelRun run(s, kernel, call);
          if (run.Supports(&reason) != TENON_VERDICT_NO) continue;
          context.Require(!reason.empty(), "{} is refused without a reason.", run.text());
          ++refused;
        }
      }
    }
  }
  const auto* table = s.Table<tenon_subgraph_vtable>();
  if (table != nullptr && table->claim != nullptr) {
    for (int which = 0; which < kGraphs; ++which) {
      const auto graph = Graph(which);
      const Claims said = Ask(s, *table, *graph);
      std::set<std::uint64_t> claimed;
      for (const Claims::One& claim : said.claims) claimed.insert(claim.nodes.begin(), claim.nodes.end());
      for (std::uint64_t node = 1; node <= graph->nodes().size(); ++node) {
        if (claimed.count(node) > 0) continue;
        const auto reason = said.rejected.find(node);
        context.Require(reason != said.rejected.end() && !reason->second.empty(),
                        "Node {} ({}) is not claimed, and no reason is given.", node, graph->nodes()[node - 1].op);
        ++refused;
      }
    }
  }
  if (refused == 0) context.Skip("The plugin refuses nothing of what the kit asks for.");
  context.Note(fmt::format("{} refusals", refused));
}

}  // namespace tenon::conform

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace tenon::graph {

// A small graph with wildcards, in the text form of the plugin ABI (tenon/abi/subgraph.h):
//
//   pattern(%x, %w, %b?) {
//     %c = Conv(%x, %w, %b) {dilations=[1,1], group=1}
//     %r = Relu(%c)
//     %p = MaxPool(%r)
//     return %p
//   }
//
// `%b?` may be absent in the graph. `{name=literal}` demands a value, `{name=$bound}` any value that is the same wherever
// the name occurs; attributes that are not named are free. Operator names may carry a domain (`tenon.ReluGrad`), `*` is
// any operator.
struct Pattern {
  struct Input { std::string name; bool optional = false; };
  struct Operator {
    std::string result;                // value name without '%'
    std::string domain, type;          // type "*": any
    std::vector<std::string> inputs;   // value names; "_" any value
    std::vector<std::pair<std::string, AttrValue>> attrs;
    std::vector<std::pair<std::string, std::string>> bound_attrs;  // attribute, $name
  };
  std::vector<Input> inputs;
  std::vector<Operator> operators;     // producers before readers
  std::vector<std::string> returns;
};

Result<Pattern> ParsePattern(std::string_view text, std::string_view source_name);

// Where a pattern was found. Nodes are in the order of Pattern::operators, inputs in the order of Pattern::inputs.
struct PatternMatch {
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;  // kNone: absent optional input
  std::vector<ValueId> returns;
};

// Tries to match with the pattern's last operator at node `anchor`. Inner values must have no reader outside the match and
// must not be outputs of the graph.
std::optional<PatternMatch> MatchAt(const Graph& graph, const Pattern& pattern, NodeId anchor);

// Attributes of the matched nodes, each name prefixed by the pattern's value name: "c.strides", "p.kernel_shape".
Attributes CollectAttributes(const Graph& graph, const Pattern& pattern, const PatternMatch& match);

// A fused operator that a plugin offers together with the pattern it replaces.
struct FusionRule {
  std::string name;                 // for listings: "conv_relu_max_pool"
  Pattern pattern;
  bool after_autodiff = false;
  std::string domain, type;         // the fused operator
  // Saved values beyond the pattern's returns, in order, for a match with these input types, return types and
  // attributes; nullopt: the plugin declines. `returns` gives the types of the pattern's returned values.
  std::function<std::optional<std::vector<ValueType>>(const std::vector<ValueType>& inputs,
                                                      const std::vector<ValueType>& returns, const Attributes& attrs)>
      accept;
  // Prototype of the fused node's gradient (FusedOp::gradient_*).
  FusedOp gradient;
};

}  // namespace tenon::graph

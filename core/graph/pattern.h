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

// A small graph with wildcards; grammar and meaning are those of the plugin ABI (tenon/abi/subgraph.h):
//
//   pattern(%x, %w, %b?) {
//     %c = Conv(%x, %w, %b) {dilations=[1,1], group=1}
//     %r = Relu|LeakyRelu(%c)
//     %p = MaxPool(%r)
//     return %p
//   }
struct Pattern {
  struct Input {
    std::string name;
    bool optional = false;
  };
  struct OperatorName {
    std::string domain, type;
  };
  struct Operator {
    std::vector<std::string> results;        // value names without '%'
    std::vector<OperatorName> alternatives;  // empty: any operator
    std::vector<std::string> inputs;         // value names; "_": any value, a further input of the fused operator
    std::vector<std::pair<std::string, AttrValue>> attrs;
    std::vector<std::pair<std::string, std::string>> bound_attrs;  // attribute, $name
  };
  std::vector<Input> inputs;
  std::vector<Operator> operators;  // producers before readers
  std::vector<std::string> returns;
};

Result<Pattern> ParsePattern(std::string_view text, std::string_view source_name);

// Where a pattern was found.
struct PatternMatch {
  std::vector<NodeId> nodes;    // in the order of Pattern::operators
  std::vector<ValueId> inputs;  // pattern inputs, then the operands "_"; kNone: absent optional input
  std::vector<ValueId> returns;
  std::vector<std::pair<std::string, ValueId>> values;   // every named value, in order of first appearance
  std::vector<std::pair<std::string, AttrValue>> bound;  // "$name" attributes
};

// Tries to match with the pattern's last operator at node `anchor`. Inner values must have no reader outside the match and
// must not be outputs of the graph.
std::optional<PatternMatch> MatchAt(const Graph& graph, const Pattern& pattern, NodeId anchor);

// Attributes of the fused node: those of the matched nodes as "<value>.<name>", "<value>.op_type" where the operator was
// a choice, and the bound ones.
Attributes CollectAttributes(const Graph& graph, const Pattern& pattern, const PatternMatch& match);

// A value that a fused operator keeps for its gradient: the dims of the pattern value `like`, then `extra_dims`.
struct SavedValue {
  DType dtype = DType::kUndefined;  // undefined: that of `like`
  std::string like;
  std::vector<std::int64_t> extra_dims;
};

// A fused operator that a plugin offers together with the pattern it replaces.
struct FusionRule {
  std::string name;  // for listings: "conv_relu_max_pool"
  Pattern pattern;
  bool after_autodiff = false;
  int priority = 0;
  std::string domain, type;  // the fused operator
  int version = 0;
  std::vector<SavedValue> saved;
  bool has_gradient = false;
  FusedOp node;  // prototype of the fused node's FusedOp
  // The plugin's word on a candidate; a refusal gives its reason in `why`.
  std::function<bool(const Graph& graph, const PatternMatch& match, const Attributes& attrs, bool training,
                     std::string* why)>
      accept;
};

}  // namespace tenon::graph

#include "core/graph/pattern.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/lexer.h"

namespace tenon::graph {
namespace {

class PatternParser {
 public:
  explicit PatternParser(Lexer& lexer) : lex_(lexer) {}

  Result<Pattern> Run() {
    TENON_TRY(lex_.Advance());
    if (!lex_.IsWord("pattern")) return lex_.Wrong("'pattern'");
    TENON_TRY(lex_.Advance());
    TENON_TRY(Inputs());
    TENON_TRY(lex_.Expect("{"));
    while (!lex_.IsWord("return")) TENON_TRY(Operator());
    TENON_TRY(lex_.Advance());
    do {
      if (!pattern_.returns.empty()) TENON_TRY(lex_.Expect(","));
      TENON_ASSIGN(std::string name, Known());
      pattern_.returns.push_back(std::move(name));
    } while (lex_.Is(","));
    TENON_TRY(lex_.Expect("}"));
    if (pattern_.operators.empty()) return lex_.Wrong("at least one operator");
    return std::move(pattern_);
  }

 private:
  Status Inputs() {
    TENON_TRY(lex_.Expect("("));
    while (!lex_.Is(")")) {
      if (!pattern_.inputs.empty()) TENON_TRY(lex_.Expect(","));
      TENON_ASSIGN(std::string name, lex_.TakeValueName());
      const bool optional = lex_.Is("?");
      if (optional) TENON_TRY(lex_.Advance());
      known_.insert(name);
      pattern_.inputs.push_back({std::move(name), optional});
    }
    return lex_.Expect(")");
  }

  Result<std::string> Known() {
    const std::string place = lex_.place();
    TENON_ASSIGN(std::string name, lex_.TakeValueName());
    if (known_.count(name) == 0) return InvalidArgument("Value %{} is not defined above.", name).At(place);
    return name;
  }

  Status Operator() {
    Pattern::Operator op;
    do {
      if (!op.results.empty()) TENON_TRY(lex_.Expect(","));
      TENON_ASSIGN(std::string result, lex_.TakeValueName());
      op.results.push_back(std::move(result));
    } while (lex_.Is(","));
    TENON_TRY(lex_.Expect("="));
    TENON_TRY(Alternatives(op));
    TENON_TRY(lex_.Expect("("));
    while (!lex_.Is(")")) {
      if (!op.inputs.empty()) TENON_TRY(lex_.Expect(","));
      if (lex_.IsWord("_")) {
        op.inputs.emplace_back("_");
        TENON_TRY(lex_.Advance());
        continue;
      }
      TENON_ASSIGN(std::string input, Known());
      op.inputs.push_back(std::move(input));
    }
    TENON_TRY(lex_.Expect(")"));
    if (lex_.Is("{")) TENON_TRY(Constraints(op));
    known_.insert(op.results.begin(), op.results.end());
    pattern_.operators.push_back(std::move(op));
    return {};
  }

  Status Alternatives(Pattern::Operator& op) {
    if (lex_.IsWord("_")) return lex_.Advance();
    while (true) {
      Pattern::OperatorName name;
      TENON_ASSIGN(name.type, lex_.TakeWord("the name of an operator"));
      if (lex_.Is(":")) {
        TENON_TRY(lex_.Expect(":"));
        TENON_TRY(lex_.Expect(":"));
        name.domain = std::move(name.type);
        TENON_ASSIGN(name.type, lex_.TakeWord("the name of an operator"));
      }
      op.alternatives.push_back(std::move(name));
      if (!lex_.Is("|")) return {};
      TENON_TRY(lex_.Advance());
    }
  }

  Status Constraints(Pattern::Operator& op) {
    TENON_TRY(lex_.Advance());
    bool first = true;
    while (!lex_.Is("}")) {
      if (!first) TENON_TRY(lex_.Expect(","));
      first = false;
      TENON_ASSIGN(std::string name, lex_.TakeWord("the name of an attribute"));
      TENON_TRY(lex_.Expect("="));
      if (lex_.kind() == Token::kWord && !lex_.text().empty() && lex_.text().front() == '$') {
        op.bound_attrs.emplace_back(std::move(name), lex_.text());
        TENON_TRY(lex_.Advance());
        continue;
      }
      TENON_ASSIGN(AttrValue value, lex_.TakeAttrValue());
      op.attrs.emplace_back(std::move(name), std::move(value));
    }
    return lex_.Expect("}");
  }

  Lexer& lex_;
  Pattern pattern_;
  std::set<std::string> known_;
};

bool Commutes(const std::string& type) {
  return type == "Add" || type == "Mul" || type == "Max" || type == "Min" || type == "Sum";
}

class Matcher {
 public:
  Matcher(const Graph& graph, const Pattern& pattern) : graph_(graph), pattern_(pattern) {
    state_.nodes.assign(pattern.operators.size(), kNone);
  }

  std::optional<PatternMatch> Run(NodeId anchor) {
    if (!MatchOperator(pattern_.operators.size() - 1, anchor)) return std::nullopt;
    if (std::find(state_.nodes.begin(), state_.nodes.end(), kNone) != state_.nodes.end()) return std::nullopt;
    PatternMatch match;
    match.nodes = state_.nodes;
    for (const Pattern::Input& input : pattern_.inputs) {
      const auto found = state_.values.find(input.name);
      const ValueId value = found == state_.values.end() ? kNone : found->second;
      if (value == kNone && !input.optional) return std::nullopt;
      match.inputs.push_back(value);
      match.values.emplace_back(input.name, value);
    }
    AddWildcardInputs(match);
    for (const Pattern::Operator& op : pattern_.operators) {
      for (const std::string& result : op.results) match.values.emplace_back(result, state_.values.at(result));
    }
    for (const std::string& name : pattern_.returns) match.returns.push_back(state_.values.at(name));
    match.bound.assign(state_.bound.begin(), state_.bound.end());
    if (!InnerValuesArePrivate(match)) return std::nullopt;
    return match;
  }

 private:
  struct State {
    std::vector<NodeId> nodes;
    std::map<std::string, ValueId> values;
    std::map<std::string, AttrValue> bound;
    std::map<std::pair<std::size_t, std::size_t>, ValueId> wildcards;  // (operator, operand)
  };

  // Operator and result index that define a pattern value; {-1, 0} for an input.
  std::pair<int, int> ProducerOf(const std::string& value) const {
    for (std::size_t i = 0; i < pattern_.operators.size(); ++i) {
      const auto& results = pattern_.operators[i].results;
      const auto found = std::find(results.begin(), results.end(), value);
      if (found != results.end()) return {static_cast<int>(i), static_cast<int>(found - results.begin())};
    }
    return {-1, 0};
  }

  bool Bind(const std::string& name, ValueId value) {
    const auto added = state_.values.emplace(name, value);
    return added.first->second == value;
  }

  bool AttributesFit(const Pattern::Operator& op, const Node& node) {
    for (const auto& wanted : op.attrs) {
      const AttrValue* value = node.attrs.Find(wanted.first);
      if (value == nullptr || !Equal(*value, wanted.second)) return false;
    }
    for (const auto& bound : op.bound_attrs) {
      const AttrValue* value = node.attrs.Find(bound.first);
      if (value == nullptr) return false;
      const auto added = state_.bound.emplace(bound.second, *value);
      if (!Equal(added.first->second, *value)) return false;
    }
    return true;
  }

  static bool NameFits(const Pattern::Operator& op, const Node& node) {
    if (op.alternatives.empty()) return true;
    return std::any_of(op.alternatives.begin(), op.alternatives.end(), [&](const Pattern::OperatorName& name) {
      return name.type == node.type && name.domain == node.domain;
    });
  }

  // Outputs that the statement names are bound; the others must not be wanted.
  bool BindResults(const Pattern::Operator& op, const Node& node) {
    for (std::size_t i = 0; i < std::max(op.results.size(), node.outputs.size()); ++i) {
      const ValueId out = i < node.outputs.size() ? node.outputs[i] : kNone;
      if (i >= op.results.size()) {
        if (out != kNone && graph_.CountUses(out) > 0) return false;
      } else if (out == kNone || !Bind(op.results[i], out)) {
        return false;
      }
    }
    return true;
  }

  bool MatchOperator(std::size_t index, NodeId id) {
    const Pattern::Operator& op = pattern_.operators[index];
    const Node& node = graph_.node(id);
    if (state_.nodes[index] != kNone) return state_.nodes[index] == id;
    if (node.dead || node.fused != nullptr || !NameFits(op, node) || !AttributesFit(op, node)) return false;
    if (node.inputs.size() > op.inputs.size()) return false;
    state_.nodes[index] = id;
    if (!BindResults(op, node)) return false;
    const State before = state_;
    if (MatchInputs(index, node.inputs)) return true;
    if (!Commutes(node.type) || node.inputs.size() != 2) return false;
    state_ = before;
    return MatchInputs(index, {node.inputs[1], node.inputs[0]});
  }

  bool MatchInputs(std::size_t index, const std::vector<ValueId>& inputs) {
    const Pattern::Operator& op = pattern_.operators[index];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId value = i < inputs.size() ? inputs[i] : kNone;
      if (op.inputs[i] == "_") {
        if (value == kNone) return false;
        state_.wildcards[{index, i}] = value;
      } else if (!MatchInput(op.inputs[i], value)) {
        return false;
      }
    }
    return true;
  }

  bool MatchInput(const std::string& name, ValueId value) {
    const auto [producer, output] = ProducerOf(name);
    if (producer < 0) return value == kNone ? IsOptional(name) : Bind(name, value);
    if (value == kNone || graph_.value(value).producer == kNone) return false;
    if (graph_.value(value).producer_output != output) return false;
    return MatchOperator(static_cast<std::size_t>(producer), graph_.value(value).producer);
  }

  bool IsOptional(const std::string& name) const {
    return std::any_of(pattern_.inputs.begin(), pattern_.inputs.end(),
                       [&](const Pattern::Input& input) { return input.name == name && input.optional; });
  }

  void AddWildcardInputs(PatternMatch& match) const {
    for (const auto& entry : state_.wildcards) match.inputs.push_back(entry.second);  // sorted by (operator, operand)
  }

  bool InnerValuesArePrivate(const PatternMatch& match) const {
    const std::set<NodeId> inside(match.nodes.begin(), match.nodes.end());
    for (const NodeId id : match.nodes) {
      for (const ValueId out : graph_.node(id).outputs) {
        if (out == kNone) continue;
        if (std::find(match.returns.begin(), match.returns.end(), out) != match.returns.end()) continue;
        int inner_uses = 0;
        for (const NodeId reader : graph_.Readers(out)) {
          if (inside.count(reader) == 0) return false;
          const auto& inputs = graph_.node(reader).inputs;
          inner_uses += static_cast<int>(std::count(inputs.begin(), inputs.end(), out));
        }
        if (graph_.CountUses(out) != inner_uses) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Pattern& pattern_;
  State state_;
};

}  // namespace

Result<Pattern> ParsePattern(std::string_view text, std::string_view source_name) {
  Lexer lexer(text, std::string(source_name));
  return PatternParser(lexer).Run();
}

std::optional<PatternMatch> MatchAt(const Graph& graph, const Pattern& pattern, NodeId anchor) {
  return Matcher(graph, pattern).Run(anchor);
}

Attributes CollectAttributes(const Graph& graph, const Pattern& pattern, const PatternMatch& match) {
  Attributes all;
  for (std::size_t i = 0; i < match.nodes.size(); ++i) {
    const Node& node = graph.node(match.nodes[i]);
    const std::string prefix = pattern.operators[i].results.front() + ".";
    for (const auto& item : node.attrs.items()) all.Set(prefix + item.first, item.second);
    if (pattern.operators[i].alternatives.size() != 1) all.Set(prefix + "op_type", node.type);
  }
  for (const auto& bound : match.bound) all.Set(bound.first, bound.second);
  return all;
}

}  // namespace tenon::graph

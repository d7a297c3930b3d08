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
    TENON_ASSIGN(op.result, lex_.TakeValueName());
    TENON_TRY(lex_.Expect("="));
    TENON_ASSIGN(const std::string full, lex_.TakeWord("the name of an operator"));
    const std::size_t dot = full.rfind('.');
    op.domain = dot == std::string::npos ? "" : full.substr(0, dot);
    op.type = dot == std::string::npos ? full : full.substr(dot + 1);
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
    known_.insert(op.result);
    pattern_.operators.push_back(std::move(op));
    return {};
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

class Matcher {
 public:
  Matcher(const Graph& graph, const Pattern& pattern)
      : graph_(graph), pattern_(pattern), nodes_(pattern.operators.size(), kNone) {}

  std::optional<PatternMatch> Run(NodeId anchor) {
    if (!MatchOperator(pattern_.operators.size() - 1, anchor)) return std::nullopt;
    if (std::find(nodes_.begin(), nodes_.end(), kNone) != nodes_.end()) return std::nullopt;  // not all connected
    PatternMatch match;
    match.nodes = nodes_;
    for (const Pattern::Input& input : pattern_.inputs) {
      const auto found = values_.find(input.name);
      const ValueId value = found == values_.end() ? kNone : found->second;
      if (value == kNone && !input.optional) return std::nullopt;
      match.inputs.push_back(value);
    }
    for (const std::string& name : pattern_.returns) match.returns.push_back(values_.at(name));
    if (!InnerValuesArePrivate(match)) return std::nullopt;
    return match;
  }

 private:
  int OperatorOf(const std::string& value) const {
    for (std::size_t i = 0; i < pattern_.operators.size(); ++i) {
      if (pattern_.operators[i].result == value) return static_cast<int>(i);
    }
    return -1;
  }

  bool Bind(const std::string& name, ValueId value) {
    const auto added = values_.emplace(name, value);
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
      const auto added = bound_.emplace(bound.second, *value);
      if (!Equal(added.first->second, *value)) return false;
    }
    return true;
  }

  bool MatchOperator(std::size_t index, NodeId id) {
    const Pattern::Operator& op = pattern_.operators[index];
    const Node& node = graph_.node(id);
    if (nodes_[index] != kNone) return nodes_[index] == id;
    if (node.dead || node.fused != nullptr) return false;
    if (op.type != "*" && (node.type != op.type || node.domain != op.domain)) return false;
    if (node.outputs.empty() || node.outputs[0] == kNone || !AttributesFit(op, node)) return false;
    if (node.inputs.size() > op.inputs.size()) return false;
    nodes_[index] = id;
    if (!Bind(op.result, node.outputs[0])) return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ValueId value = i < node.inputs.size() ? node.inputs[i] : kNone;
      if (!MatchInput(op.inputs[i], value)) return false;
    }
    return true;
  }

  bool MatchInput(const std::string& name, ValueId value) {
    if (name == "_") return true;
    const int producer = OperatorOf(name);
    if (producer < 0) return value == kNone ? IsOptional(name) : Bind(name, value);
    if (value == kNone || graph_.value(value).producer == kNone || graph_.value(value).producer_output != 0) return false;
    return MatchOperator(static_cast<std::size_t>(producer), graph_.value(value).producer);
  }

  bool IsOptional(const std::string& name) const {
    return std::any_of(pattern_.inputs.begin(), pattern_.inputs.end(),
                       [&](const Pattern::Input& input) { return input.name == name && input.optional; });
  }

  bool InnerValuesArePrivate(const PatternMatch& match) const {
    const std::set<NodeId> inside(match.nodes.begin(), match.nodes.end());
    for (const NodeId id : match.nodes) {
      for (const ValueId out : graph_.node(id).outputs) {
        if (out == kNone) continue;
        if (std::find(match.returns.begin(), match.returns.end(), out) != match.returns.end()) continue;
        const auto readers = graph_.Readers(out);
        int inner_uses = 0;
        for (const NodeId reader : readers) {
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
  std::vector<NodeId> nodes_;
  std::map<std::string, ValueId> values_;
  std::map<std::string, AttrValue> bound_;
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
    for (const auto& item : graph.node(match.nodes[i]).attrs.items())
      all.Set(pattern.operators[i].result + "." + item.first, item.second);
  }
  return all;
}

}  // namespace tenon::graph

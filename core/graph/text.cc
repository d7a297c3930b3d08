// The text form of graphs:
//
//   graph train_step {
//     %x: f32[32,1,28,28] input
//     %w: f32[6,1,5,5] parameter
//     %k: f32[2] constant = tensor f32[2]{1,2}
//     %y = Conv(%x, %w, _) {kernel_shape=[5,5]} name "c1" at "run.yaml:14:3" : f32[32,6,24,24]
//     %p, %i = MaxPool version 12(%y) {...} name "p1" : f32[32,6,12,12], i64[32,6,12,12]
//     return %p
//     update %w = %w2
//   }
//
// `_` is an absent input or an output that is not wanted; `version 12` states an opset version.
#include "core/graph/graph.h"
#include "core/graph/lexer.h"

namespace tenon::graph {
namespace {

bool IsPlain(const std::string& name) {
  for (const char c : name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
    if (!word) return false;
  }
  return !name.empty();
}

std::string Quoted(const std::string& name) { return ToString(AttrValue(name)); }

std::string Ref(const Graph& graph, ValueId id) {
  if (id == kNone) return "_";
  const std::string& name = graph.value(id).name;
  return "%" + (IsPlain(name) ? name : Quoted(name));
}

std::string RefList(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) text += (i > 0 ? ", " : "") + Ref(graph, ids[i]);
  return text;
}

void PrintNode(const Graph& graph, const Node& node, std::string& text) {
  text += "  " + RefList(graph, node.outputs) + " = " + node.FullName();
  if (node.version != 0) text += fmt::format(" version {}", node.version);
  if (node.fused != nullptr) text += " fused " + Quoted(node.fused->pattern);
  text += "(" + RefList(graph, node.inputs) + ")";
  if (!node.attrs.items().empty()) {
    text += " {";
    bool first = true;
    for (const auto& item : node.attrs.items()) {
      text += fmt::format("{}{}={}", first ? "" : ", ", item.first, ToString(item.second));
      first = false;
    }
    text += "}";
  }
  text += " name " + Quoted(node.name);
  if (!node.place.empty()) text += " at " + Quoted(node.place);
  text += " :";
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    text += i > 0 ? ", " : " ";
    text += node.outputs[i] == kNone ? "_" : graph.value(node.outputs[i]).type.ToString();
  }
  text += "\n";
}

}  // namespace

std::string Print(const Graph& graph) {
  std::string text = "graph " + (IsPlain(graph.name) ? graph.name : Quoted(graph.name)) + " {\n";
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    const ValueInfo& value = graph.value(id);
    if (value.kind == ValueKind::kResult) continue;
    text += fmt::format("  {}: {} {}", Ref(graph, id), value.type.ToString(), NameOf(value.kind));
    if (value.kind == ValueKind::kConstant) text += " = " + ToString(AttrValue(value.constant));
    text += "\n";
  }
  for (const NodeId id : graph.LiveNodes()) PrintNode(graph, graph.node(id), text);
  if (!graph.outputs.empty()) text += "  return " + RefList(graph, graph.outputs) + "\n";
  for (const Update& update : graph.updates)
    text += fmt::format("  update {} = {}\n", Ref(graph, update.state), Ref(graph, update.value));
  return text + "}\n";
}

namespace {

class GraphParser {
 public:
  explicit GraphParser(Lexer& lexer) : lex_(lexer) {}

  Result<Graph> Run() {
    TENON_TRY(lex_.Advance());
    if (!lex_.IsWord("graph")) return lex_.Wrong("'graph'");
    TENON_TRY(lex_.Advance());
    graph_.name = lex_.text();
    TENON_TRY(lex_.Advance());
    TENON_TRY(lex_.Expect("{"));
    while (!lex_.Is("}")) TENON_TRY(Statement());
    TENON_TRY(lex_.Expect("}"));
    if (lex_.kind() != Token::kEnd) return lex_.Wrong("the end of the text");
    return std::move(graph_);
  }

 private:
  Status Statement() {
    if (lex_.IsWord("return")) return Return();
    if (lex_.IsWord("update")) return ParseUpdate();
    TENON_ASSIGN(const std::vector<std::string> names, NameList());
    if (lex_.Is(":") && names.size() == 1) return Source(names[0]);
    return Operator(names);
  }

  Result<std::vector<std::string>> NameList() {  // "" stands for "_"
    std::vector<std::string> names;
    while (true) {
      if (lex_.IsWord("_")) {
        names.emplace_back();
        TENON_TRY(lex_.Advance());
      } else {
        TENON_ASSIGN(std::string name, lex_.TakeValueName());
        names.push_back(std::move(name));
      }
      if (!lex_.Is(",")) return names;
      TENON_TRY(lex_.Advance());
    }
  }

  Result<ValueId> Lookup(const std::string& name, const std::string& place) {
    if (name.empty()) return kNone;
    const ValueId id = graph_.FindValue(name);
    if (id == kNone) return InvalidArgument("Value %{} is not defined above.", name).At(place);
    return id;
  }

  Result<ValueType> Type() {
    ValueType type;
    TENON_ASSIGN(const std::string word, lex_.TakeWord("a type such as f32[2,3]"));
    const auto dtype = ParseDType(word);
    if (!dtype) return InvalidArgument("'{}' is not a dtype.", word).At(lex_.place());
    type.dtype = *dtype;
    TENON_TRY(lex_.Expect("["));
    while (!lex_.Is("]")) {
      if (type.shape.rank() > 0) TENON_TRY(lex_.Expect(","));
      if (type.shape.rank() == kMaxRank) return lex_.Wrong("at most 8 dimensions");
      TENON_ASSIGN(const Dim dim, Dimension(0));
      type.shape.push_back(dim);
    }
    TENON_TRY(lex_.Expect("]"));
    return type;
  }

  // 32, N, (N * 2), min(N,4)
  Result<Dim> Dimension(int depth) {
    if (depth > 32) return lex_.Wrong("a simpler dimension");
    if (lex_.Is("(")) return Expression(depth);
    if (lex_.kind() != Token::kWord) {
      TENON_ASSIGN(const std::int64_t known, lex_.TakeInt("a dimension"));
      return Dim(known);
    }
    TENON_ASSIGN(const std::string word, lex_.TakeWord("a dimension"));
    if (!lex_.Is("(")) return Dim::Symbol(word);
    TENON_TRY(lex_.Advance());
    TENON_ASSIGN(const Dim a, Dimension(depth + 1));
    TENON_TRY(lex_.Expect(","));
    TENON_ASSIGN(const Dim b, Dimension(depth + 1));
    TENON_TRY(lex_.Expect(")"));
    if (word != "min" && word != "max") return lex_.Wrong("min(...) or max(...)");
    return word == "min" ? Min(a, b) : Max(a, b);
  }

  Result<Dim> Expression(int depth) {
    TENON_TRY(lex_.Expect("("));
    TENON_ASSIGN(const Dim a, Dimension(depth + 1));
    std::string sign = lex_.text();
    TENON_TRY(lex_.Advance());
    if (sign == "/") {  // "//" and "/^"
      sign += lex_.text();
      TENON_TRY(lex_.Advance());
    }
    TENON_ASSIGN(const Dim b, Dimension(depth + 1));
    TENON_TRY(lex_.Expect(")"));
    if (sign == "+") return a + b;
    if (sign == "-") return a - b;
    if (sign == "*") return a * b;
    if (sign == "//") return FloorDiv(a, b);
    if (sign == "/^") return CeilDiv(a, b);
    if (sign == "mod") return Mod(a, b);
    return lex_.Wrong("one of + - * // /^ mod");
  }

  Status CheckNew(const std::string& name) {
    if (graph_.FindValue(name) == kNone) return {};
    return InvalidArgument("Value %{} is defined twice.", name).At(lex_.place());
  }

  Status Source(const std::string& name) {
    TENON_TRY(CheckNew(name));
    TENON_TRY(lex_.Expect(":"));
    TENON_ASSIGN(const ValueType type, Type());
    TENON_ASSIGN(const std::string kind, lex_.TakeWord("input, parameter, state or constant"));
    if (kind == "input") {
      graph_.AddInput(name, type);
    } else if (kind == "parameter") {
      graph_.AddParameter(name, type);
    } else if (kind == "state") {
      graph_.AddState(name, type);
    } else if (kind == "constant") {
      TENON_TRY(lex_.Expect("="));
      TENON_ASSIGN(AttrValue value, lex_.TakeAttrValue());
      Tensor* tensor = std::get_if<Tensor>(&value);
      if (tensor == nullptr) return lex_.Wrong("a tensor");
      graph_.AddConstant(name, std::move(*tensor));
    } else {
      return InvalidArgument("'{}' is none of input, parameter, state, constant.", kind).At(lex_.place());
    }
    return {};
  }

  Result<Attributes> ParseAttributes() {
    Attributes attrs;
    if (!lex_.Is("{")) return attrs;
    TENON_TRY(lex_.Advance());
    bool first = true;
    while (!lex_.Is("}")) {
      if (!first) TENON_TRY(lex_.Expect(","));
      first = false;
      TENON_ASSIGN(const std::string name, lex_.TakeWord("the name of an attribute"));
      TENON_TRY(lex_.Expect("="));
      TENON_ASSIGN(AttrValue value, lex_.TakeAttrValue());
      attrs.Set(name, std::move(value));
    }
    TENON_TRY(lex_.Advance());
    return attrs;
  }

  Status Operator(const std::vector<std::string>& results) {
    const std::string place = lex_.place();
    TENON_TRY(lex_.Expect("="));
    TENON_ASSIGN(const std::string full, lex_.TakeWord("the name of an operator"));
    const std::size_t dot = full.rfind('.');
    const std::string domain = dot == std::string::npos ? "" : full.substr(0, dot);
    const std::string type = dot == std::string::npos ? full : full.substr(dot + 1);
    int version = 0;
    if (lex_.IsWord("version")) {
      TENON_TRY(lex_.Advance());
      TENON_ASSIGN(const std::int64_t stated, lex_.TakeInt("an opset version"));
      version = static_cast<int>(stated);
    }
    std::string fused;
    const bool is_fused = lex_.IsWord("fused");
    if (is_fused) {
      TENON_TRY(lex_.Advance());
      TENON_ASSIGN(fused, lex_.TakeText("the name of a pattern"));
    }
    TENON_TRY(lex_.Expect("("));
    std::vector<ValueId> inputs;
    while (!lex_.Is(")")) {
      const std::string at = lex_.place();
      TENON_ASSIGN(const std::vector<std::string> names, NameList());
      for (const std::string& name : names) {
        TENON_ASSIGN(const ValueId id, Lookup(name, at));
        inputs.push_back(id);
      }
    }
    TENON_TRY(lex_.Expect(")"));
    TENON_ASSIGN(Attributes attrs, ParseAttributes());
    std::string name, at;
    if (lex_.IsWord("name")) {
      TENON_TRY(lex_.Advance());
      TENON_ASSIGN(name, lex_.TakeText("the node's name"));
    }
    if (lex_.IsWord("at")) {
      TENON_TRY(lex_.Advance());
      TENON_ASSIGN(at, lex_.TakeText("a place"));
    }
    TENON_ASSIGN(const std::vector<ValueType> types, TypeList());
    for (const std::string& result : results) {
      if (!result.empty()) TENON_TRY(CheckNew(result));
    }
    if (is_fused)
      return AddFused(domain, type, inputs, std::move(attrs), types, fused, version, name, at, results, place);
    auto added = graph_.AddNode(domain, type, inputs, std::move(attrs), static_cast<int>(results.size()), name, at,
                                version, results);
    if (!added.ok()) return std::move(added).status().At(place);
    return Finish(*added, results, types, place);
  }

  Result<std::vector<ValueType>> TypeList() {  // undefined stands for "_" and for "not stated"
    std::vector<ValueType> types;
    if (!lex_.Is(":")) return types;
    do {
      TENON_TRY(lex_.Advance());
      if (lex_.IsWord("_")) {
        types.emplace_back();
        TENON_TRY(lex_.Advance());
        continue;
      }
      TENON_ASSIGN(const ValueType type, Type());
      types.push_back(type);
    } while (lex_.Is(","));
    return types;
  }

  Status AddFused(const std::string& domain, const std::string& type, const std::vector<ValueId>& inputs,
                  Attributes attrs, std::vector<ValueType> types, const std::string& pattern, int version,
                  const std::string& name, const std::string& at, const std::vector<std::string>& results,
                  const std::string& place) {
    if (types.size() != results.size())
      return InvalidArgument("A fused operator states the type of each of its {} results; {} are stated.",
                             results.size(), types.size())
          .At(place);
    auto fused = std::make_shared<FusedOp>();
    fused->pattern = pattern;
    fused->version = version;
    const NodeId id = graph_.AddFusedNode(domain, type, inputs, std::move(attrs), types, fused, name, at);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].empty()) graph_.RenameValue(graph_.node(id).outputs[i], results[i]);
    }
    return Finish(id, results, types, place);
  }

  Status Finish(NodeId id, const std::vector<std::string>& results, const std::vector<ValueType>& types,
                const std::string& place) {
    Node& node = graph_.node(id);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) {
        graph_.DropOutput(id, static_cast<int>(i));
        continue;
      }
      if (i >= types.size() || !types[i].defined()) continue;
      const ValueType& inferred = graph_.value(node.outputs[i]).type;
      if (!(inferred == types[i]))
        return InvalidArgument("Value %{} is stated as {} but {} gives {}.", results[i], types[i].ToString(),
                               node.FullName(), inferred.ToString())
            .At(place);
    }
    return {};
  }

  Status Return() {
    TENON_TRY(lex_.Advance());
    const std::string at = lex_.place();
    TENON_ASSIGN(const std::vector<std::string> names, NameList());
    for (const std::string& name : names) {
      TENON_ASSIGN(const ValueId id, Lookup(name, at));
      if (id == kNone) return lex_.Wrong("the name of a value");
      graph_.outputs.push_back(id);
    }
    return {};
  }

  Status ParseUpdate() {
    TENON_TRY(lex_.Advance());
    const std::string state_place = lex_.place();
    TENON_ASSIGN(const std::string state, lex_.TakeValueName());
    TENON_TRY(lex_.Expect("="));
    const std::string value_place = lex_.place();
    TENON_ASSIGN(const std::string value, lex_.TakeValueName());
    TENON_ASSIGN(const ValueId to, Lookup(state, state_place));
    TENON_ASSIGN(const ValueId from, Lookup(value, value_place));
    graph_.updates.push_back({to, from});
    return {};
  }

  Lexer& lex_;
  Graph graph_;
};

}  // namespace

Result<Graph> Parse(std::string_view text, std::string_view source_name) {
  Lexer lexer(text, std::string(source_name));
  return GraphParser(lexer).Run();
}

}  // namespace tenon::graph

#include "tools/msopgen/op_file.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/text.h"
#include "tools/msopgen/attribute_value.h"
#include "tools/msopgen/names.h"

namespace tenon::msopgen {
namespace {

struct AttributeWord {
  std::string_view word;
  AttributeType type;
};
constexpr AttributeWord kAttributeWords[] = {
    {"int", AttributeType::kInt},
    {"float", AttributeType::kFloat},
    {"bool", AttributeType::kBool},
    {"string", AttributeType::kText},
    {"type", AttributeType::kType},
    {"tensor", AttributeType::kTensor},
    {"list_int", AttributeType::kInts},
    {"list_float", AttributeType::kFloats},
    {"list_bool", AttributeType::kBools},
    {"list_string", AttributeType::kTexts},
    {"list_type", AttributeType::kTypes},
    {"list_tensor", AttributeType::kTensors},
    {"list_list_int", AttributeType::kIntLists},
    // other spellings
    {"str", AttributeType::kText},
    {"listInt", AttributeType::kInts},
    {"listFloat", AttributeType::kFloats},
    {"listBool", AttributeType::kBools},
    {"listStr", AttributeType::kTexts},
    {"listString", AttributeType::kTexts},
    {"listListInt", AttributeType::kIntLists},
    {"listTensor", AttributeType::kTensors},
    {"dataType", AttributeType::kType},
    {"listDataType", AttributeType::kTypes},
};

class Reader {
 public:
  explicit Reader(Findings& findings) : findings_(findings) {}

  std::vector<Operator> Read(const JsonNode& root) {
    std::vector<Operator> operators;
    if (root.is(JsonNode::Kind::kObject)) {
      operators.push_back(ReadOperator(root));
    } else if (root.is(JsonNode::Kind::kList)) {
      if (root.items.empty()) findings_.Error(root.place, "The file lists no operator.");
      for (const JsonNode& item : root.items) {
        if (NeedObject(item, "An operator")) operators.push_back(ReadOperator(item));
      }
    } else {
      findings_.Error(root.place,
                      fmt::format("The file holds {}; it needs a list of operators, or one.", root.Describe()));
    }
    CheckNames(operators);
    return operators;
  }

 private:
  // ---- parts of every object ----

  bool NeedObject(const JsonNode& node, const std::string& what) {
    if (node.is(JsonNode::Kind::kObject)) return true;
    findings_.Error(node.place, fmt::format("{} is an object {{\"key\": value}}, and not {}.", what, node.Describe()));
    return false;
  }

  void CheckKeys(const JsonNode& object, const std::string& what, const std::vector<std::string>& known) {
    std::map<std::string, Place> seen;
    for (const JsonMember& member : object.members) {
      const auto earlier = seen.emplace(member.name, member.place);
      if (!earlier.second) {
        findings_.Error(member.place, fmt::format("{} has the key '{}' twice, first in line {}.", what, member.name,
                                                  earlier.first->second.line));
      } else if (std::find(known.begin(), known.end(), member.name) == known.end()) {
        const std::string nearest = NearestName(member.name, known);
        findings_.Error(member.place, fmt::format("{} has no key '{}'.{}", what, member.name,
                                                  nearest.empty() ? fmt::format(" Keys are {}.", JoinAnd(known))
                                                                  : fmt::format(" Did you mean '{}'?", nearest)));
      }
    }
  }

  // The text under a key; empty with an error when it is missing or something else.
  std::string NeedText(const JsonNode& object, const std::string& key, const std::string& what) {
    const JsonNode* node = object.Find(key);
    if (node == nullptr) {
      findings_.Error(object.place, fmt::format("{} lacks \"{}\".", what, key));
      return "";
    }
    if (node->is(JsonNode::Kind::kText)) return node->text;
    findings_.Error(node->place, fmt::format("\"{}\" of {} is a text, and not {}.", key, what, node->Describe()));
    return "";
  }

  // ---- operators ----

  Operator ReadOperator(const JsonNode& json) {
    Operator made;
    made.place = json.place;
    CheckKeys(json, "An operator", {"op", "input_desc", "output_desc", "attr", "kind", "language"});
    made.type = NeedText(json, "op", "An operator");
    if (const JsonNode* name = json.Find("op"); name != nullptr && name->is(JsonNode::Kind::kText)) {
      made.place = name->place;
      const std::string why = WhyNoOperatorName(made.type);
      if (!why.empty()) findings_.Error(name->place, why);
      const auto earlier =
          std::find_if(named_.begin(), named_.end(), [&](const auto& other) { return other.first == made.type; });
      if (earlier != named_.end())
        findings_.Error(name->place, fmt::format("The operator '{}' is there twice, first in line {}.", made.type,
                                                 earlier->second.line));
      named_.emplace_back(made.type, name->place);
    }
    made.op = SnakeCase(made.type);
    if (const JsonNode* language = json.Find("language");
        language != nullptr && (!language->is(JsonNode::Kind::kText) || language->text != "cpp"))
      findings_.Error(language->place, fmt::format("\"language\" is {}; cpp alone is possible.", language->Describe()));
    if (const JsonNode* kind = json.Find("kind")) {
      made.kind = kind->text;
      if (made.kind != "elementwise" && made.kind != "reduction" && made.kind != "generic")
        findings_.Error(kind->place,
                        fmt::format("\"kind\" is {}; it can be elementwise, reduction or generic.", kind->Describe()));
    }
    const std::string what = fmt::format("Operator '{}'", made.type);
    made.inputs = ReadOperands(json, "input_desc", what);
    made.outputs = ReadOperands(json, "output_desc", what);
    if (json.Find("input_desc") == nullptr)
      findings_.Note(made.place, what + " has no \"input_desc\" and takes no input.");
    if (json.Find("output_desc") == nullptr) {
      findings_.Error(made.place, what + " lacks \"output_desc\": an operator has at least one output.");
    } else if (made.outputs.empty() && findings_.good()) {
      findings_.Error(json.Find("output_desc")->place, what + " has no output; it needs at least one.");
    }
    AlignTypes(made);
    ReadAttributes(json, made);
    return made;
  }

  // ---- inputs and outputs ----

  std::vector<Operand> ReadOperands(const JsonNode& json, const std::string& key, const std::string& op) {
    std::vector<Operand> operands;
    const JsonNode* list = json.Find(key);
    if (list == nullptr) return operands;
    if (!list->is(JsonNode::Kind::kList)) {
      findings_.Error(list->place, fmt::format("\"{}\" of {} is a list, and not {}.", key, op, list->Describe()));
      return operands;
    }
    const std::string kind = key == "input_desc" ? "Input" : "Output";
    for (const JsonNode& item : list->items) {
      if (!NeedObject(item, kind)) continue;
      Operand operand = ReadOperand(item, kind);
      const auto same = std::find_if(operands.begin(), operands.end(),
                                     [&](const Operand& other) { return other.name == operand.name; });
      if (same != operands.end() && !operand.name.empty()) {
        findings_.Note(operand.place, fmt::format("{} '{}' is there twice, first in line {}; the later one counts.",
                                                  kind, operand.name, same->place.line));
        *same = std::move(operand);
        continue;
      }
      const auto alike = std::find_if(operands.begin(), operands.end(),
                                      [&](const Operand& other) { return other.field == operand.field; });
      if (alike != operands.end() && !operand.name.empty())
        findings_.Error(operand.place, fmt::format("{}s '{}' (line {}) and '{}' would both be called '{}' in C++.",
                                                   kind, alike->name, alike->place.line, operand.name, operand.field));
      operands.push_back(std::move(operand));
    }
    return operands;
  }

  Operand ReadOperand(const JsonNode& json, const std::string& kind) {
    Operand operand;
    operand.place = json.place;
    CheckKeys(json, kind, {"name", "param_type", "format", "type"});
    operand.name = NeedText(json, "name", kind);
    if (const JsonNode* name = json.Find("name"); name != nullptr && name->is(JsonNode::Kind::kText)) {
      operand.place = name->place;
      const std::string why = WhyNoParameterName(operand.name);
      if (!why.empty()) findings_.Error(name->place, why);
    }
    operand.field = SnakeCase(operand.name);
    const std::string what = fmt::format("{} '{}'", kind, operand.name);
    operand.presence = ReadPresence(json, what, true);
    std::vector<Place> format_places;
    operand.formats = ReadFormats(json, what, format_places);
    const bool formats_in_types = ReadTypes(json, what, operand);
    const JsonNode* formats = json.Find("format");
    if (formats == nullptr && !formats_in_types && json.Find("type") != nullptr)
      findings_.Error(operand.place, fmt::format("{} lacks \"format\".", what));
    if (formats != nullptr && formats_in_types)
      findings_.Note(formats->place, fmt::format("{} names its formats in \"type\" too; those count.", what));
    if (!operand.formats.empty() && !operand.types.empty()) MatchFormats(operand, *formats, what);
    return operand;
  }

  Presence ReadPresence(const JsonNode& json, const std::string& what, bool dynamic) {
    const JsonNode* node = json.Find("param_type");
    if (node == nullptr || node->text == "required") return Presence::kRequired;
    if (node->text == "optional") return Presence::kOptional;
    if (node->text == "dynamic" && dynamic) return Presence::kDynamic;
    findings_.Note(node->place,
                   fmt::format("\"param_type\" of {} is {}; it can be required, optional{}. It is taken as "
                               "required.",
                               what, node->Describe(), dynamic ? " or dynamic" : ""));
    return Presence::kRequired;
  }

  // A text stands for a list of one.
  std::vector<const JsonNode*> TextsOf(const JsonNode& json, const std::string& key, const std::string& what) {
    std::vector<const JsonNode*> texts;
    const JsonNode* node = json.Find(key);
    if (node == nullptr) return texts;
    if (node->is(JsonNode::Kind::kText)) return {node};
    if (!node->is(JsonNode::Kind::kList)) {
      findings_.Error(node->place,
                      fmt::format("\"{}\" of {} is a list of texts, and not {}.", key, what, node->Describe()));
      return texts;
    }
    if (node->items.empty()) findings_.Error(node->place, fmt::format("\"{}\" of {} is empty.", key, what));
    for (const JsonNode& item : node->items) {
      if (item.is(JsonNode::Kind::kText)) {
        texts.push_back(&item);
      } else {
        findings_.Error(item.place, fmt::format("\"{}\" of {} lists texts, and not {}.", key, what, item.Describe()));
      }
    }
    return texts;
  }

  std::vector<std::string> ReadFormats(const JsonNode& json, const std::string& what, std::vector<Place>& places) {
    std::vector<std::string> formats;
    for (const JsonNode* text : TextsOf(json, "format", what)) {
      if (!IsFormat(text->text)) {
        const std::string nearest = NearestFormat(text->text);
        findings_.Error(text->place, fmt::format("\"format\" of {}: '{}' is no format.{}", what, text->text,
                                                 nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest)));
      }
      formats.push_back(text->text);
      places.push_back(text->place);
    }
    return formats;
  }

  // True when the words name formats as well.
  bool ReadTypes(const JsonNode& json, const std::string& what, Operand& operand) {
    if (json.Find("type") == nullptr) findings_.Error(operand.place, fmt::format("{} lacks \"type\".", what));
    bool formats = false;
    for (const JsonNode* text : TextsOf(json, "type", what)) {
      std::string why;
      const std::optional<TypeWord> word = ReadTypeWord(text->text, &why);
      if (!word) {
        findings_.Error(text->place, fmt::format("\"type\" of {}: {}", what, why));
        continue;
      }
      formats = formats || !word->format.empty();
      operand.grouped = operand.grouped || !word->group.empty();
      if (!word->left_out.empty())
        findings_.Note(text->place, fmt::format("The group '{}' of {} stands for {} here; Tenon has no tensors of {}.",
                                                word->group, what, Shorts(word->types), word->left_out));
      operand.types.insert(operand.types.end(), word->types.begin(), word->types.end());
    }
    return formats;
  }

  static std::string Shorts(const std::vector<Type>& types) {
    std::vector<std::string> names;
    for (const Type& type : types) names.push_back(ShortName(type));
    return JoinAnd(names);
  }

  void MatchFormats(Operand& operand, const JsonNode& json, const std::string& what) {
    const std::size_t types = operand.types.size(), formats = operand.formats.size();
    if (formats == types) return;
    if (formats == 1) {
      operand.formats.resize(types, operand.formats[0]);
    } else if (types == 1) {
      operand.types.resize(formats, operand.types[0]);
    } else if (operand.grouped) {
      findings_.Note(json.place, fmt::format("{} lists {} formats and, with its groups spelled out, {} types; the last "
                                             "format is repeated.",
                                             what, formats, types));
      operand.formats.resize(types, operand.formats.back());
    } else {
      findings_.Error(json.place,
                      fmt::format("{} lists {} formats and {} types; it needs as many, or one.", what, formats, types));
    }
  }

  // The i-th types of all operands belong together.
  void AlignTypes(Operator& op) {
    std::vector<Operand*> all;
    for (Operand& input : op.inputs) all.push_back(&input);
    for (Operand& output : op.outputs) all.push_back(&output);
    std::size_t most = 0;
    const Operand* longest = nullptr;
    bool grouped = false;
    for (const Operand* operand : all) {
      grouped = grouped || operand->grouped;
      if (operand->types.size() > most) most = operand->types.size(), longest = operand;
    }
    for (Operand* operand : all) {
      const std::size_t own = operand->types.size();
      if (own == most || own == 0) continue;
      if (own > 1 && !grouped) {
        findings_.Error(operand->place,
                        fmt::format("'{}' lists {} types and '{}' {}; the i-th types of all inputs and outputs belong "
                                    "together, so each list has that length, or 1.",
                                    operand->name, own, longest->name, most));
        continue;
      }
      if (own > 1)
        findings_.Note(operand->place, fmt::format("'{}' lists {} types and '{}', with its groups spelled out, {}; the "
                                                   "last one is repeated.",
                                                   operand->name, own, longest->name, most));
      operand->types.resize(most, operand->types.back());
    }
  }

  // ---- attributes ----

  void ReadAttributes(const JsonNode& json, Operator& op) {
    const JsonNode* list = json.Find("attr");
    if (list == nullptr) return;
    if (!list->is(JsonNode::Kind::kList)) {
      findings_.Error(list->place,
                      fmt::format("\"attr\" of operator '{}' is a list, and not {}.", op.type, list->Describe()));
      return;
    }
    for (const JsonNode& item : list->items) {
      if (!NeedObject(item, "Attribute")) continue;
      Attribute attribute = ReadAttribute(item);
      for (const Attribute& other : op.attributes) {
        if (attribute.name.empty() || other.field != attribute.field) continue;
        findings_.Error(
            attribute.place,
            other.name == attribute.name
                ? fmt::format("Attribute '{}' is there twice, first in line {}.", attribute.name, other.place.line)
                : fmt::format("Attributes '{}' (line {}) and '{}' would both be called '{}' in C++.", other.name,
                              other.place.line, attribute.name, attribute.field));
      }
      op.attributes.push_back(std::move(attribute));
    }
  }

  Attribute ReadAttribute(const JsonNode& json) {
    Attribute attribute;
    attribute.place = json.place;
    CheckKeys(json, "Attribute", {"name", "param_type", "type", "default_value"});
    attribute.name = NeedText(json, "name", "Attribute");
    if (const JsonNode* name = json.Find("name"); name != nullptr && name->is(JsonNode::Kind::kText)) {
      attribute.place = name->place;
      const std::string why = WhyNoParameterName(attribute.name);
      if (!why.empty()) findings_.Error(name->place, why);
    }
    attribute.field = SnakeCase(attribute.name);
    const std::string what = fmt::format("Attribute '{}'", attribute.name);
    attribute.required = ReadPresence(json, what, false) == Presence::kRequired;
    const std::string word = NeedText(json, "type", what);
    const auto* found = std::find_if(std::begin(kAttributeWords), std::end(kAttributeWords),
                                     [&](const AttributeWord& one) { return one.word == word; });
    if (found == std::end(kAttributeWords)) {
      if (!word.empty()) {
        std::vector<std::string> known;
        for (const AttributeWord& one : kAttributeWords) known.emplace_back(one.word);
        const std::string nearest = NearestName(word, known);
        known.resize(13);
        findings_.Error(json.Find("type")->place,
                        fmt::format("\"type\" of {}: '{}' is no type of attributes.{}", what, word,
                                    nearest.empty() ? fmt::format(" They are {}.", JoinAnd(known))
                                                    : fmt::format(" Did you mean '{}'?", nearest)));
      }
      return attribute;
    }
    attribute.type = found->type;
    const JsonNode* fallback = json.Find("default_value");
    if (fallback != nullptr) {
      std::string why;
      attribute.fallback = FitValue(attribute.type, *fallback, &why);
      if (!attribute.fallback) findings_.Error(fallback->place, fmt::format("\"default_value\" of {}: {}", what, why));
      if (attribute.fallback && !why.empty()) findings_.Note(fallback->place, fmt::format("{}: {}", what, why));
      if (attribute.required && attribute.fallback)
        findings_.Note(fallback->place, what + " is required, so its default is used by the tests alone.");
    } else if (!attribute.required) {
      findings_.Error(attribute.place, what + " is optional and lacks \"default_value\".");
    }
    return attribute;
  }

  // ---- names over the whole file ----

  void CheckNames(const std::vector<Operator>& operators) {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      for (std::size_t k = 0; k < operators.size(); ++k) {
        const Operator &a = operators[k], &b = operators[i];
        if (k < i && a.op == b.op && a.type != b.type)
          findings_.Error(b.place,
                          fmt::format("Operators '{}' (line {}) and '{}' would both be written to files called "
                                      "'{}'.",
                                      a.type, a.place.line, b.type, b.op));
        if (k != i && b.type == a.type + "Grad")
          findings_.Error(b.place, fmt::format("'{}' is the name that the gradient of '{}' (line {}) gets.", b.type,
                                               a.type, a.place.line));
      }
    }
  }

  Findings& findings_;
  std::vector<std::pair<std::string, Place>> named_;
};

}  // namespace

std::vector<Operator> ReadOperators(const JsonNode& root, Findings& findings) { return Reader(findings).Read(root); }

std::string NameOf(AttributeType type) {
  for (const AttributeWord& one : kAttributeWords) {
    if (one.type == type) return std::string(one.word);
  }
  return "";
}

std::vector<std::string> Findings::Lines() const {
  struct Line {
    Place place;
    std::string text;
  };
  std::vector<Line> lines;
  const auto add = [&](const std::vector<Finding>& list, const char* kind) {
    for (const Finding& one : list)
      lines.push_back(
          {one.place, fmt::format("{}:{}:{}: {}: {}", file_, one.place.line, one.place.column, kind, one.text)});
  };
  add(errors_, "error");
  add(notes_, "note");
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::make_pair(a.place.line, a.place.column) < std::make_pair(b.place.line, b.place.column);
  });
  std::vector<std::string> texts;
  for (Line& line : lines) texts.push_back(std::move(line.text));
  return texts;
}

}  // namespace tenon::msopgen

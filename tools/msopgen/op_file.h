#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/msopgen/json_document.h"
#include "tools/msopgen/types.h"

namespace tenon::msopgen {

enum class Presence { kRequired, kOptional, kDynamic };

struct Operand {
  std::string name;
  std::string field;  // the name in C++
  Presence presence = Presence::kRequired;
  std::vector<Type> types;  // one per combination
  std::vector<std::string> formats;
  bool grouped = false;  // a group of types was named
  Place place;
};

enum class AttributeType {
  kInt,
  kFloat,
  kBool,
  kText,
  kType,
  kTensor,
  kInts,
  kFloats,
  kBools,
  kTexts,
  kIntLists,
  kTypes,
  kTensors
};

struct Attribute {
  std::string name;
  std::string field;
  AttributeType type = AttributeType::kInt;
  bool required = true;
  std::optional<JsonNode> fallback;  // fits the type
  Place place;
};

// One operator of a file, checked: operands list the same number of types.
struct Operator {
  std::string type;  // AddCustom
  std::string op;    // add_custom
  std::string kind;  // elementwise, reduction or generic; empty: not stated
  std::vector<Operand> inputs, outputs;
  std::vector<Attribute> attributes;
  Place place;

  std::size_t combinations() const { return outputs.empty() ? 0 : outputs[0].types.size(); }
};

// What is wrong with a file, and what its author should know.
class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}
  void Error(Place place, const std::string& text) { errors_.push_back({place, Printable(text)}); }
  void Note(Place place, const std::string& text) { notes_.push_back({place, Printable(text)}); }
  bool good() const { return errors_.empty(); }
  std::size_t errors() const { return errors_.size(); }
  const std::string& file() const { return file_; }
  // All lines "file:line:col: error: ..." or "... note: ...", in the order of the file.
  std::vector<std::string> Lines() const;

 private:
  struct Finding {
    Place place;
    std::string text;
  };
  std::string file_;
  std::vector<Finding> errors_, notes_;
};

// Reads a list of operators, or one. What is wrong goes to the findings, everything at once.
std::vector<Operator> ReadOperators(const JsonNode& root, Findings& findings);

// "list_int" and so on, for messages.
std::string NameOf(AttributeType type);

}  // namespace tenon::msopgen

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace tenon::msopgen {

// Where something stands in a text, counted from 1.
struct Place {
  int line = 0, column = 0;
};

struct JsonMember;

// A value of a JSON document that knows its place.
struct JsonNode {
  enum class Kind { kNull, kBool, kInteger, kReal, kText, kList, kObject };
  Kind kind = Kind::kNull;
  Place place;
  bool truth = false;
  std::int64_t whole = 0;
  double number = 0;  // of an integer too
  std::string text;
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // in their order, repeated names included

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }
  // The last member of that name; null when there is none.
  const JsonNode* Find(std::string_view name) const;
  // "the text 'abc'", "a list": what a message says that it is.
  std::string Describe() const;
};

struct JsonMember {
  std::string name;
  Place place;
  JsonNode value;
};

// For messages: control characters and bytes that are no UTF-8 as \xNN.
std::string Printable(std::string_view text);

// The document in a text; an error carries "file:line:column".
Result<JsonNode> ParseJson(const std::string& text, const std::string& file);

// The document in a file of at most 10 MiB.
Result<JsonNode> ReadJsonFile(const std::string& file);

}  // namespace tenon::msopgen

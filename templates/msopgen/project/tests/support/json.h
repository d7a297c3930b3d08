// Reader of JSON documents, as small as the cases need it. Throws std::runtime_error with line and column.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace testing {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kText, kList, kObject };
  Kind kind = Kind::kNull;
  bool truth = false;
  double number = 0;
  int64_t whole = 0;  // the number without its fraction; the nearest limit when it has more than 64 bits
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  // NULL when there is none.
  const Json* Find(const std::string& name) const {
    for (const auto& member : members) {
      if (member.first == name) return &member.second;
    }
    return nullptr;
  }
  bool is_list() const { return kind == Kind::kList; }
  bool is_text() const { return kind == Kind::kText; }
  bool is_number() const { return kind == Kind::kNumber; }
};

Json ParseJson(const std::string& text);
std::string Quoted(const std::string& text);

}  // namespace testing

#include "tools/msopgen/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tenon::msopgen {
namespace {

constexpr std::uintmax_t kMostBytes = 10 << 20;
constexpr std::size_t kDeepest = 64;

// Input iterator that leaves behind how far it came.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  Cursor(const char* at, const char** trace) : at_(at), trace_(trace) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *trace_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  const char** trace_;
};

// Builds the tree. A token starts at the first character after the former one that separates nothing.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::string& text) : text_(text), trace_(text.data()), last_(text.data()) {}

  const char** trace() { return &trace_; }
  JsonNode& root() { return root_; }
  const std::string& error() const { return error_; }
  Place error_place() const { return error_place_; }

  bool null() override { return Add(JsonNode::Kind::kNull) != nullptr; }
  bool boolean(bool value) override {
    JsonNode* node = Add(JsonNode::Kind::kBool);
    if (node != nullptr) node->truth = value;
    return node != nullptr;
  }
  bool number_integer(number_integer_t value) override { return Integer(value, static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return Integer(static_cast<std::int64_t>(value), static_cast<double>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(number_float_t value, const string_t&) override {
    JsonNode* node = Add(JsonNode::Kind::kReal);
    if (node != nullptr) node->number = value;
    return node != nullptr;
  }
  bool string(string_t& value) override {
    JsonNode* node = Add(JsonNode::Kind::kText);
    if (node != nullptr) node->text = value;
    return node != nullptr;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(JsonNode::Kind::kObject); }
  bool key(string_t& value) override {
    const Place place = Start();
    open_.back()->members.push_back({value, place, {}});
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(JsonNode::Kind::kList); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    const std::string what = exception.what();
    const std::size_t colon = what.find(": ");
    error_ = colon == std::string::npos ? what : what.substr(colon + 2);
    error_place_ = PlaceOf(text_.data() + std::min(position == 0 ? 0 : position - 1, text_.size()));
    return false;
  }

 private:
  Place PlaceOf(const char* at) const {
    Place place{1, 1};
    for (const char* c = text_.data(); c < at; ++c) {
      place.column = *c == '\n' ? 1 : place.column + 1;
      place.line += *c == '\n' ? 1 : 0;
    }
    return place;
  }
  Place Start() {
    const char* at = last_;
    while (at < text_.data() + text_.size() && std::string_view(" \t\r\n,:").find(*at) != std::string_view::npos) ++at;
    last_ = trace_;
    return PlaceOf(at);
  }
  JsonNode* Add(JsonNode::Kind kind) {
    const Place place = Start();
    if (open_.size() > kDeepest) {
      error_ = fmt::format("The document is more than {} levels deep.", kDeepest);
      error_place_ = place;
      return nullptr;
    }
    JsonNode* node = &root_;
    if (!open_.empty()) {
      JsonNode& parent = *open_.back();
      node = parent.is(JsonNode::Kind::kObject) ? &parent.members.back().value : &parent.items.emplace_back();
    }
    node->kind = kind;
    node->place = place;
    return node;
  }
  bool Integer(std::int64_t value, double number) {
    JsonNode* node = Add(JsonNode::Kind::kInteger);
    if (node == nullptr) return false;
    node->whole = value;
    node->number = number;
    return true;
  }
  // A node stays where it is while it is open: its parent gets no further child before it is closed.
  bool Open(JsonNode::Kind kind) {
    JsonNode* node = Add(kind);
    if (node != nullptr) open_.push_back(node);
    return node != nullptr;
  }
  bool Close() {
    last_ = trace_;
    open_.pop_back();
    return true;
  }

  const std::string& text_;
  const char* trace_;
  const char* last_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::string error_;
  Place error_place_;
};

// Bytes of the UTF-8 character that a text starts with; 0 for a control character and for what is no UTF-8.
std::size_t CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

}  // namespace

const JsonNode* JsonNode::Find(std::string_view name) const {
  const JsonNode* found = nullptr;
  for (const JsonMember& member : members) {
    if (member.name == name) found = &member.value;
  }
  return found;
}

std::string JsonNode::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return truth ? "true" : "false";
    case Kind::kInteger:
      return fmt::format("the number {}", whole);
    case Kind::kReal:
      return fmt::format("the number {}", number);
    case Kind::kText:
      return fmt::format("the text '{}'", text);
    case Kind::kList:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "";
}

std::string Printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = CharacterAt(text.substr(at));
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else {
      shown += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

Result<JsonNode> ParseJson(const std::string& text, const std::string& file) {
  Builder builder(text);
  const bool good = nlohmann::json::sax_parse(Cursor(text.data(), builder.trace()),
                                              Cursor(text.data() + text.size(), builder.trace()), &builder);
  if (good) return std::move(builder.root());
  return InvalidArgument("The file is not JSON: {}", Printable(builder.error()))
      .At(fmt::format("{}:{}:{}", file, builder.error_place().line, builder.error_place().column));
}

Result<JsonNode> ReadJsonFile(const std::string& file) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
  if (failed) return Error(Code::kNotFound, "{} cannot be read: {}.", file, failed.message());
  TENON_INVALID_IF(bytes > kMostBytes, "{} has {} bytes; an operator file has at most {}.", file, bytes, kMostBytes);
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  TENON_INVALID_IF(!stream, "{} cannot be read.", file);
  return ParseJson(text, file);
}

}  // namespace tenon::msopgen

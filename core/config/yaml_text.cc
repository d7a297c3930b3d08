#include "core/config/yaml_text.h"

#include <algorithm>

namespace tenon {

std::size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool beyond = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

namespace {

constexpr std::size_t kStep = 256;

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

YamlText::YamlText(std::string_view bytes, std::shared_ptr<const ConfigOrigin> origin) : origin_(std::move(origin)) {
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
  text_.reserve(bytes.size());
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    text_.push_back(bytes[i]);
    if (bytes[i] == '\n') line_starts_.push_back(text_.size());
  }
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (i % kStep == 0) characters_.push_back(characters);
    if (BeginsCharacter(text_[i])) ++characters;
  }
}

std::size_t YamlText::CharactersBefore(std::size_t end) const {
  if (end == 0) return 0;
  const std::size_t step = (end - 1) / kStep;
  std::size_t characters = characters_[step];
  for (std::size_t i = step * kStep; i < end; ++i) {
    if (BeginsCharacter(text_[i])) ++characters;
  }
  return characters;
}

Place YamlText::PlaceAt(std::size_t offset) const {
  if (offset >= text_.size()) offset = text_.empty() ? 0 : text_.size() - 1;
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const std::size_t start = *(after - 1);
  const int column = static_cast<int>(CharactersBefore(offset) - CharactersBefore(start)) + 1;
  return Place{origin_, static_cast<int>(after - line_starts_.begin()), column};
}

std::string_view YamlText::Line(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > line_starts_.size()) return {};
  const std::size_t start = line_starts_[static_cast<std::size_t>(line) - 1];
  const std::size_t end = std::min(text_.find('\n', start), text_.size());
  return std::string_view(text_).substr(start, end - start);
}

void YamlText::Check(ConfigProblems& problems) const {
  for (std::size_t i = 0; i < text_.size();) {
    const std::size_t length = Utf8Length(std::string_view(text_).substr(i));
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (length == 0) {
      problems.Add(PlaceAt(i), "The byte 0x{:02X} is not UTF-8 text. Save the file as UTF-8.", byte);
      return;
    }
    if (byte < 0x20 && byte != '\t' && byte != '\n') {
      problems.Add(PlaceAt(i), "The control character 0x{:02X} cannot stand in a YAML file.", byte);
      return;
    }
    i += length;
  }
  for (const std::size_t start : line_starts_) {
    const std::size_t first = text_.find_first_not_of(" \t", start);
    if (first == std::string::npos || text_[first] == '\n' || text_[first] == '#') continue;
    const std::size_t tab = text_.find('\t', start);
    if (tab < first) problems.Add(PlaceAt(tab), "A tab stands in the indentation. YAML is indented with spaces.");
    if (text_[start] == '%') {
      problems.Add(PlaceAt(start), "A line that starts with '%' is a YAML directive, and none is used here.");
    }
  }
}

}  // namespace tenon

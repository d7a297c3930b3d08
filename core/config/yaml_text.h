#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/node.h"
#include "core/config/problems.h"

namespace tenon {

// The bytes of a YAML file, checked and addressable by line and column.
class YamlText {
 public:
  // Strips a byte order mark and turns CRLF into LF.
  YamlText(std::string_view bytes, std::shared_ptr<const ConfigOrigin> origin);

  const std::string& text() const { return text_; }

  // What a YAML parser would get wrong or take in silence: bytes that are not UTF-8, control characters, tabs in
  // indentation, directives.
  void Check(ConfigProblems& problems) const;

  // The place of a byte offset; offsets beyond the end mean the last character.
  Place PlaceAt(std::size_t offset) const;

  // The line (from 1) as text without its end; empty beyond the last.
  std::string_view Line(int line) const;

 private:
  std::string text_;
  std::shared_ptr<const ConfigOrigin> origin_;
  // Characters that begin before offset `end`. Counted once in steps, so that a place in a long line costs no more.
  std::size_t CharactersBefore(std::size_t end) const;

  std::vector<std::size_t> line_starts_;
  std::vector<std::size_t> characters_;  // before offsets 0, kStep, 2 kStep ...
};

// The number of bytes of the valid UTF-8 character at the start of `text`, or 0.
std::size_t Utf8Length(std::string_view text);

}  // namespace tenon

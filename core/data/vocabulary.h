#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/data/data_config.h"

namespace tenon {

// Which number stands for which character: the place in the sorted list of code points. Bytes have no list; their
// number is their value. Immutable, any thread.
class Vocabulary {
 public:
  static Vocabulary OfBytes();
  // `code_points` strictly increasing, at least one.
  static Result<Vocabulary> OfCharacters(std::vector<std::uint32_t> code_points);

  // The text form, which a run leaves in its folder as vocabulary.txt: "characters 65" and a line "U+0041" each, or
  // "bytes 256" alone. `name` stands for the file in errors, which carry file:line.
  static Result<Vocabulary> Parse(std::string_view text, const std::string& name);
  static Result<Vocabulary> Load(const std::string& path);
  std::string ToText() const;

  TextUnit unit() const { return unit_; }
  std::int64_t size() const { return unit_ == TextUnit::kBytes ? 256 : static_cast<std::int64_t>(points_.size()); }
  // Empty for bytes.
  std::span<const std::uint32_t> code_points() const { return points_; }
  std::optional<std::int64_t> Find(std::uint32_t code_point) const;

  // Empty when both are the same, else a sentence with the first difference.
  std::string DifferenceTo(const Vocabulary& other) const;

 private:
  TextUnit unit_ = TextUnit::kBytes;
  std::vector<std::uint32_t> points_;
};

}  // namespace tenon

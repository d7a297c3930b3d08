#include "core/data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/data/utf8.h"
#include "core/platform/mapped_file.h"

namespace tenon {

Vocabulary Vocabulary::OfBytes() { return Vocabulary(); }

Result<Vocabulary> Vocabulary::OfCharacters(std::vector<std::uint32_t> code_points) {
  TENON_INVALID_IF(code_points.empty(), "A vocabulary of characters needs at least one.");
  const auto out_of_order =
      std::adjacent_find(code_points.begin(), code_points.end(), [](auto a, auto b) { return a >= b; });
  TENON_INVALID_IF(out_of_order != code_points.end(), "The characters of a vocabulary must increase; {} follows {}.",
                   DescribeCodePoint(*(out_of_order + 1)), DescribeCodePoint(*out_of_order));
  Vocabulary vocabulary;
  vocabulary.unit_ = TextUnit::kCharacters;
  vocabulary.points_ = std::move(code_points);
  return vocabulary;
}

Result<Vocabulary> Vocabulary::Parse(std::string_view text, const std::string& name) {
  std::vector<std::string> lines = Split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (!lines.empty() && lines[0] == "bytes 256" && lines.size() == 1) return OfBytes();
  if (lines.empty() || lines[0] != fmt::format("characters {}", lines.size() - 1)) {
    return Error(Code::kDataLoss,
                 "A vocabulary starts with 'bytes 256', or with 'characters N' and has N lines behind it; this one has "
                 "{} "
                 "lines and starts with '{}'.",
                 lines.size(), lines.empty() ? std::string() : lines[0].substr(0, 40))
        .At(name + ":1");
  }
  std::vector<std::uint32_t> points;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    std::uint32_t point = 0;
    const char* end = line.data() + line.size();
    const bool marked = line.size() > 2 && line.compare(0, 2, "U+") == 0;
    const auto read = marked ? std::from_chars(line.data() + 2, end, point, 16)
                             : std::from_chars_result{end, std::errc::invalid_argument};
    if (read.ec != std::errc() || read.ptr != end || point > 0x10ffff || (!points.empty() && point <= points.back())) {
      return Error(Code::kDataLoss, "The line needs a code point above the one before it, as in U+0041, but is '{}'.",
                   line.substr(0, 40))
          .At(fmt::format("{}:{}", name, i + 1));
    }
    points.push_back(point);
  }
  auto vocabulary = OfCharacters(std::move(points));
  if (!vocabulary.ok()) return std::move(vocabulary).status().At(name);
  return vocabulary;
}

Result<Vocabulary> Vocabulary::Load(const std::string& path) {
  TENON_ASSIGN(const MappedFile file, MappedFile::Open(path));
  return Parse({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

std::string Vocabulary::ToText() const {
  if (unit_ == TextUnit::kBytes) return "bytes 256\n";
  std::string text = fmt::format("characters {}\n", points_.size());
  for (const std::uint32_t point : points_) text += fmt::format("U+{:04X}\n", point);
  return text;
}

std::optional<std::int64_t> Vocabulary::Find(std::uint32_t code_point) const {
  if (unit_ == TextUnit::kBytes) return code_point < 256 ? std::optional<std::int64_t>(code_point) : std::nullopt;
  const auto at = std::lower_bound(points_.begin(), points_.end(), code_point);
  if (at == points_.end() || *at != code_point) return std::nullopt;
  return at - points_.begin();
}

std::string Vocabulary::DifferenceTo(const Vocabulary& other) const {
  const auto name = [](TextUnit unit) { return unit == TextUnit::kBytes ? "bytes" : "characters"; };
  if (unit_ != other.unit_) return fmt::format("One is of {}, the other of {}.", name(unit_), name(other.unit_));
  const auto [mine, theirs] = std::mismatch(points_.begin(), points_.end(), other.points_.begin(), other.points_.end());
  if (mine == points_.end() && theirs == other.points_.end()) return "";
  const auto shown = [](auto at, auto end) { return at == end ? std::string("nothing") : DescribeCodePoint(*at); };
  return fmt::format("They have {} and {} characters; number {} is {} in one and {} in the other.", size(),
                     other.size(), mine - points_.begin(), shown(mine, points_.end()),
                     shown(theirs, other.points_.end()));
}

}  // namespace tenon

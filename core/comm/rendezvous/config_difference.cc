#include "core/comm/rendezvous/config_difference.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace tenon::rendezvous {
namespace {

constexpr int kShown = 3;

std::map<std::string_view, std::string_view> ByKey(std::string_view lines) {
  std::map<std::string_view, std::string_view> values;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos)
      values[line];
    else
      values[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return values;
}

}  // namespace

std::string DescribeDifference(const std::string& lines, const std::string& one, const std::string& other_lines,
                               const std::string& other) {
  const auto mine = ByKey(lines), theirs = ByKey(other_lines);
  std::string text;
  int found = 0;
  const auto add = [&](std::string_view key, std::string_view here, std::string_view there) {
    if (++found <= kShown)
      text += fmt::format("{}'{}' is {} on {} and {} on {}", found == 1 ? "" : "; ", key, here, one, there, other);
  };
  for (const auto& [key, value] : mine) {
    const auto match = theirs.find(key);
    const std::string_view there = match == theirs.end() ? "not there" : match->second;
    if (match == theirs.end() || there != value) add(key, value, there);
  }
  for (const auto& [key, value] : theirs) {
    if (mine.count(key) == 0) add(key, "not there", value);
  }
  if (found > kShown) text += fmt::format("; and {} more keys differ", found - kShown);
  return text;
}

}  // namespace tenon::rendezvous

#include "core/train/name_pattern.h"

#include <algorithm>

#include "core/base/text.h"

namespace tenon {
namespace {

// A layer's name alone, as "conv1", or the nearest name.
std::string Hint(const std::string& pattern, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.starts_with(pattern + ".")) return fmt::format(" Did you mean '{}.*'?", pattern);
  }
  std::string nearest = NearestName(pattern, names);
  // "conf1.*": the misspelt part is before the star.
  if (nearest.empty() && pattern.ends_with(".*")) {
    std::vector<std::string> layers;
    for (const std::string& name : names) layers.push_back(name.substr(0, name.rfind('.')));
    nearest = NearestName(pattern.substr(0, pattern.size() - 2), layers);
    if (!nearest.empty()) nearest += ".*";
  }
  if (!nearest.empty()) return fmt::format(" Did you mean '{}'?", nearest);
  std::vector<std::string> some(names.begin(),
                                names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 6)));
  if (some.size() < names.size()) some.push_back("others");
  return some.empty() ? "" : fmt::format(" There are {}.", JoinAnd(some));
}

}  // namespace

Result<std::vector<std::size_t>> PickNames(const std::string& pattern, const std::vector<std::string>& names,
                                           std::string_view what) {
  std::vector<std::size_t> picked;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (MatchesGlob(pattern, names[i])) picked.push_back(i);
  }
  TENON_INVALID_IF(picked.empty(), "The pattern '{}' matches no {}.{}", pattern, what, Hint(pattern, names));
  return picked;
}

}  // namespace tenon

#include "core/config/merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/config/scalar.h"
#include "core/config/yaml_reader.h"

namespace tenon {
namespace {

constexpr std::string_view kDelete = "_delete_";

// The value of a map's `_delete_` key; false when absent.
bool WantsDelete(const ConfigNode& map, ConfigProblems& problems) {
  const ConfigNode* flag = map.Find(kDelete);
  if (flag == nullptr) return false;
  std::string complaint;
  const std::optional<bool> value = ReadBool(*flag, complaint);
  if (!value) problems.Add(flag->place(), "'{}' {}", kDelete, complaint);
  return value.value_or(false);
}

}  // namespace

ConfigNode WithoutDeleteKeys(const ConfigNode& root, ConfigProblems& problems) {
  if (root.is_list()) {
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : root.items()) items.push_back(WithoutDeleteKeys(item, problems));
    return ConfigNode::List(std::move(items), root.place());
  }
  if (!root.is_map()) return root;
  WantsDelete(root, problems);
  std::vector<ConfigEntry> entries;
  for (const ConfigEntry& entry : root.entries()) {
    if (entry.key == kDelete) continue;
    entries.push_back({entry.key, entry.key_place, WithoutDeleteKeys(entry.value, problems)});
  }
  return ConfigNode::Map(std::move(entries), root.place());
}

ConfigNode Merge(const ConfigNode& earlier, const ConfigNode& later, ConfigProblems& problems) {
  if (!earlier.is_map() || !later.is_map() || WantsDelete(later, problems)) return WithoutDeleteKeys(later, problems);
  std::vector<ConfigEntry> entries;
  for (const ConfigEntry& entry : earlier.entries()) {
    const ConfigEntry* winner = later.FindEntry(entry.key);
    if (winner == nullptr) {
      entries.push_back(entry);
    } else {
      entries.push_back({winner->key, winner->key_place, Merge(entry.value, winner->value, problems)});
    }
  }
  for (const ConfigEntry& entry : later.entries()) {
    if (entry.key == kDelete || earlier.FindEntry(entry.key) != nullptr) continue;
    entries.push_back({entry.key, entry.key_place, WithoutDeleteKeys(entry.value, problems)});
  }
  return ConfigNode::Map(std::move(entries), later.place());
}

namespace {

// "plugins.pin."vendor.npu"" -> plugins, pin, vendor.npu; nothing when a part is empty or a quote is open.
std::optional<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (true) {
    std::string part;
    if (at < path.size() && path[at] == '"') {
      const std::size_t close = path.find('"', at + 1);
      if (close == std::string_view::npos) return std::nullopt;
      part = path.substr(at + 1, close - at - 1);
      at = close + 1;
      if (at < path.size() && path[at] != '.') return std::nullopt;
    } else {
      const std::size_t dot = std::min(path.find('.', at), path.size());
      part = path.substr(at, dot - at);
      at = dot;
    }
    if (part.empty()) return std::nullopt;
    parts.push_back(std::move(part));
    if (at >= path.size()) return parts;
    ++at;
  }
}

std::optional<std::size_t> AsIndex(std::string_view part) {
  if (part.empty() || part.size() > 9) return std::nullopt;
  std::size_t index = 0;
  for (const char c : part) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index;
}

// One `--set`, walking down the tree.
struct Setter {
  const std::vector<std::string>& parts;
  const ConfigNode& value;
  const Place& place;
  ConfigProblems& problems;

  ConfigNode Set(const ConfigNode& node, std::size_t depth) const {
    if (depth == parts.size()) return value;
    if (node.is_list()) return SetItem(node, depth);
    if (!node.is_map() && !node.is_null()) {
      problems.Add(place, "'{}' is {}{}, so '{}' cannot be set in it.", PathUpTo(depth), node.Describe(), Where(node),
                   parts[depth]);
      return node;
    }
    std::vector<ConfigEntry> entries = node.entries();
    for (ConfigEntry& entry : entries) {
      if (entry.key != parts[depth]) continue;
      entry.value = Set(entry.value, depth + 1);
      if (depth + 1 == parts.size()) entry.key_place = place;
      return ConfigNode::Map(std::move(entries), node.place());
    }
    entries.push_back({parts[depth], place, Set(ConfigNode::Null(place), depth + 1)});
    return ConfigNode::Map(std::move(entries), node.place().known() ? node.place() : place);
  }

  ConfigNode SetItem(const ConfigNode& list, std::size_t depth) const {
    const std::optional<std::size_t> index = AsIndex(parts[depth]);
    const std::size_t count = list.items().size();
    if (!index || *index >= count) {
      const std::string range =
          count == 0 ? "is an empty list" : fmt::format("is a list with entries 0 to {}", count - 1);
      problems.Add(place, "'{}' {}{}, so '{}' cannot be set in it.", PathUpTo(depth), range, Where(list), parts[depth]);
      return list;
    }
    std::vector<ConfigNode> items = list.items();
    items[*index] = Set(items[*index], depth + 1);
    return ConfigNode::List(std::move(items), list.place());
  }

  std::string PathUpTo(std::size_t depth) const { return Join(std::span(parts).first(depth), "."); }

  static std::string Where(const ConfigNode& node) {
    const std::string at = node.place().ToString();
    return at.empty() ? "" : " (" + at + ")";
  }
};

ConfigNode ReadOverrideValue(std::string_view text, const Place& place, ConfigProblems& problems) {
  const bool flow = !text.empty() && std::string_view("[{\"'").find(text[0]) != std::string_view::npos;
  if (!flow)
    return IsNullText(text) ? ConfigNode::Null(place)
                            : ConfigNode::Scalar(std::string(text), ScalarStyle::kPlain, place);
  Result<ConfigNode> value = ReadFlowYaml(text, place);
  if (value.ok()) return WithoutDeleteKeys(*value, problems);
  problems.Add(place, "The value is not YAML in flow form. {}", value.status().message());
  return ConfigNode::Null(place);
}

}  // namespace

ConfigNode ApplyOverride(const ConfigNode& root, std::string_view assignment, const std::filesystem::path& folder,
                         ConfigProblems& problems) {
  auto origin = std::make_shared<ConfigOrigin>();
  origin->name = fmt::format("--set {}", Shortened(assignment));
  origin->folder = folder;
  origin->is_file = false;
  const Place place{std::move(origin), 0, 0};

  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    problems.Add(place, "An override has the form key.key=value.");
    return root;
  }
  const auto parts = SplitPath(Trim(assignment.substr(0, equals)));
  if (!parts) {
    problems.Add(place, "'{}' is not a path of keys such as train.epochs.", Shortened(assignment.substr(0, equals)));
    return root;
  }
  const std::size_t before = problems.count();
  const ConfigNode value = ReadOverrideValue(Trim(assignment.substr(equals + 1)), place, problems);
  if (problems.count() > before) return root;
  return Setter{*parts, value, place, problems}.Set(root, 0);
}

}  // namespace tenon

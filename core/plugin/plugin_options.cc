#include "core/plugin/plugin_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/text.h"
#include "core/config/problems.h"
#include "core/config/scalar.h"
#include "core/plugin/plugin_message.h"

namespace tenon {

namespace {

struct WrittenKey {
  std::string path;  // dotted
  Place place;
};

// Dotted paths of everything written that is not a map.
void CollectKeys(const ConfigNode& node, const std::string& prefix, std::vector<WrittenKey>* keys) {
  for (const ConfigEntry& entry : node.entries()) {
    const std::string path = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.value.is_map() && !entry.value.entries().empty()) {
      CollectKeys(entry.value, path, keys);
    } else {
      keys->push_back({path, entry.key_place});
    }
  }
}

std::string Bounds(std::int64_t low, std::int64_t high) {
  const bool below = low != std::numeric_limits<std::int64_t>::min();
  const bool above = high != std::numeric_limits<std::int64_t>::max();
  if (below && above) return fmt::format("{} to {}", low, high);
  if (below) return fmt::format("at least {}", low);
  if (above) return fmt::format("at most {}", high);
  return "";
}

}  // namespace

PluginOptions::PluginOptions(ConfigNode options, std::string file_name)
    : options_(std::move(options)), file_name_(std::move(file_name)) {}

const ConfigNode* PluginOptions::Ask(std::string_view key, PluginOption declaration) {
  declaration.key = key;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool known =
        std::any_of(schema_.begin(), schema_.end(), [&](const PluginOption& option) { return option.key == key; });
    if (!known) schema_.push_back(std::move(declaration));
  }
  const ConfigNode* node = &options_;
  for (const std::string& part : Split(key, '.')) {
    node = node->Find(part);
    if (node == nullptr) return nullptr;
  }
  return node;
}

Status PluginOptions::Bad(const ConfigNode& value, std::string_view key, const std::string& complaint) {
  Status status =
      PluginError(PluginMessage::kBadOption, file_name_, "option '{}' {}", key, complaint).At(value.place().ToString());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problem_.ok()) problem_ = status;
  return status;
}

Result<std::int64_t> PluginOptions::Integer(std::string_view key, std::int64_t default_value, std::int64_t low,
                                            std::int64_t high, std::string_view help) {
  const ConfigNode* node =
      Ask(key, {"", "integer", std::to_string(default_value), Bounds(low, high), std::string(help)});
  if (node == nullptr) return default_value;
  std::string complaint;
  const std::optional<std::int64_t> value = ReadInteger(*node, complaint);
  if (!value) return Bad(*node, key, complaint);
  if (*value < low || *value > high)
    return Bad(*node, key, fmt::format("must be {}, but is {}.", Bounds(low, high), *value));
  return *value;
}

Result<double> PluginOptions::Number(std::string_view key, double default_value, std::string_view help) {
  const ConfigNode* node = Ask(key, {"", "number", NumberToText(default_value), "", std::string(help)});
  if (node == nullptr) return default_value;
  std::string complaint;
  const std::optional<double> value = ReadNumber(*node, /*infinite_allowed=*/false, complaint);
  if (!value) return Bad(*node, key, complaint);
  return *value;
}

Result<bool> PluginOptions::Flag(std::string_view key, bool default_value, std::string_view help) {
  const ConfigNode* node = Ask(key, {"", "flag", default_value ? "true" : "false", "", std::string(help)});
  if (node == nullptr) return default_value;
  std::string complaint;
  const std::optional<bool> value = ReadBool(*node, complaint);
  if (!value) return Bad(*node, key, complaint);
  return *value;
}

Result<std::string_view> PluginOptions::Text(std::string_view key, std::string_view default_value,
                                             std::string_view help) {
  const ConfigNode* node = Ask(key, {"", "text", std::string(default_value), "", std::string(help)});
  std::string text(default_value);
  if (node != nullptr) {
    std::string complaint;
    std::optional<std::string> value = ReadText(*node, complaint);
    if (!value) return Bad(*node, key, complaint);
    text = std::move(*value);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  texts_.push_back(std::move(text));
  return std::string_view(texts_.back());
}

Status PluginOptions::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

std::vector<PluginOption> PluginOptions::schema() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return schema_;
}

Status PluginOptions::UnknownKeys() const {
  const std::vector<PluginOption> known = schema();
  std::vector<std::string> names;
  for (const PluginOption& option : known) names.push_back(option.key);
  std::vector<WrittenKey> written;
  CollectKeys(options_, "", &written);
  ConfigProblems problems;
  for (const WrittenKey& key : written) {
    if (std::find(names.begin(), names.end(), key.path) != names.end()) continue;
    const std::string nearest = NearestName(key.path, names);
    std::string hint = names.empty() ? "It has no options." : fmt::format("It knows {}.", JoinAnd(names));
    if (!nearest.empty()) hint = fmt::format("Did you mean '{}'? {}", nearest, hint);
    problems.AddText(key.place, PluginError(PluginMessage::kUnknownOption, file_name_,
                                            "does not know the option '{}'. {}", key.path, hint)
                                    .message());
  }
  return problems.ToStatus();
}

}  // namespace tenon

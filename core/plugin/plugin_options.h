#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/config/node.h"

namespace tenon {

// One option that a plugin asked for: its own declaration of it.
struct PluginOption {
  std::string key;
  std::string type;           // "integer", "number", "flag", "text"
  std::string default_value;  // as text
  std::string bounds;         // "0 to 9"; empty when any value will do
  std::string help;
};

// The `options:` of one plugin, read by the plugin with types. What it asks for is its schema: keys of the user that
// nobody asked for are unknown. Any thread.
class PluginOptions {
 public:
  // `options` is a map or nothing.
  PluginOptions(ConfigNode options, std::string file_name);

  // Each gives the default when the key is absent. INVALID_ARGUMENT (TN-PLG-084, with the place) for another type or a
  // value out of bounds; it is also kept for problem().
  Result<std::int64_t> Integer(std::string_view key, std::int64_t default_value, std::int64_t low, std::int64_t high,
                               std::string_view help);
  Result<double> Number(std::string_view key, double default_value, std::string_view help);
  Result<bool> Flag(std::string_view key, bool default_value, std::string_view help);
  // The text lives as long as this object.
  Result<std::string_view> Text(std::string_view key, std::string_view default_value, std::string_view help);

  // First bad value seen, also when the plugin ignored the error.
  Status problem() const;
  // TN-PLG-083 for keys that nobody asked for, with place and nearest name.
  Status UnknownKeys() const;
  std::vector<PluginOption> schema() const;
  // What the user wrote: a map or nothing.
  const ConfigNode& written() const { return options_; }

 private:
  // The value at a dotted key, or null; records the declaration.
  const ConfigNode* Ask(std::string_view key, PluginOption declaration);
  Status Bad(const ConfigNode& value, std::string_view key, const std::string& complaint);

  const ConfigNode options_;
  const std::string file_name_;
  mutable std::mutex mutex_;
  std::vector<PluginOption> schema_;
  std::deque<std::string> texts_;  // addresses stay
  Status problem_;
};

}  // namespace tenon

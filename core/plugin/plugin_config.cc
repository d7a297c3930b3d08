#include "core/plugin/plugin_config.h"

#include "core/config/fields.h"

namespace tenon {

std::vector<std::string> ConfigNamesOf(TrustPolicy) { return {"strict", "warn", "off"}; }

// A bare name or path stands for a map with that one key.
template <>
struct ConfigCodec<PluginLoadEntry> {
  static ConfigType Type() {
    return {.kind = ConfigType::Kind::kCustom,
            .table = &ConfigTableOf(static_cast<const PluginLoadEntry*>(nullptr)),
            .spelling = "name, path with a slash in it, or map"};
  }

  static void Read(const ConfigNode& node, const Bounds& bounds, PluginLoadEntry& out, ConfigReader& reader) {
    out.place = node.place();
    if (!node.is_scalar()) return ReadFields(ConfigTableOf(&out), node, &out, reader);
    const bool is_path = node.text().find('/') != std::string::npos;
    if (is_path) return ConfigCodec<std::string>::Read(node, bounds & PathText(), out.path, reader);
    if (node.text().empty()) return reader.Complain(node, "needs the name of a plugin, but is empty.");
    out.name = node.text();
  }

  static ConfigNode Write(const PluginLoadEntry& value) {
    const bool bare = !value.required && value.legacy.empty() && value.options.is_null();
    if (bare) return TextNode(value.text());
    std::vector<ConfigEntry> entries;
    for (ConfigEntry& entry : WriteFields(ConfigTableOf(&value), &value)) {
      const bool unused = entry.value.is_scalar() && entry.value.text().empty();
      if (!unused) entries.push_back(std::move(entry));
    }
    return ConfigNode::Map(std::move(entries));
  }
};

namespace {

void CheckEntry(const ConfigNode& node, PluginLoadEntry& entry, ConfigReader& reader) {
  if (entry.name.empty() == entry.path.empty()) {
    return reader.Complain(
        node, entry.name.empty() ? "needs 'name' or 'path'." : "has 'name' and 'path'. Keep one of the two.");
  }
  if (entry.name.find('/') != std::string::npos) {
    return reader.Complain(*node.Find("name"), "is a name with a '/' in it. Write it as 'path'.");
  }
  if (!entry.legacy.empty() && entry.path.empty())
    return reader.Complain(node, "has 'legacy' and no 'path'. Such a library is named by its path.");
  if (!entry.options.is_null() && !entry.options.is_map()) {
    reader.Fail(entry.options.place(), "'{}' needs a map (key: value), but is {}.", reader.PathTo("options"),
                entry.options.Describe());
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const PluginLoadEntry*) {
  using T = PluginLoadEntry;
  static const ConfigTable table = Table<T>(
      "One plugin. Exactly one of `name` and `path` is given.",
      {
          Field("name", &T::name, "file <name>.so or lib<name>.so in the folders searched"),
          Field("path", &T::path, PathText(), "the file itself"),
          Field("required", &T::required, "the run fails when it cannot be loaded, even if nothing else needs it"),
          Field("legacy", &T::legacy, OneOf({"", "aot"}),
                "aot: the file is no plugin but a library of ahead-of-time operators (legacy_operators.md)"),
          Field("options", &T::options, "settings for the plugin, which checks them itself"),
      },
      CheckEntry);
  return table;
}

const ConfigTable& ConfigTableOf(const PluginsConfig*) {
  using T = PluginsConfig;
  static const ConfigTable table = Table<T>(
      "Where plugins come from.",
      {
          Field("search", &T::search, PathText(),
                "more folders to search; after --plugin-dir, before TENON_PLUGIN_PATH"),
          Field("load", &T::load, "opened in any case; what else the run needs is found by search"),
          Field("pin", &T::pin, PathText(), "plugin id -> file, when two files have the same id"),
          Field("priority", &T::priority, "plugin id -> number, when two plugins offer the same; the higher one wins"),
          Field("trust", &T::trust,
                "files that others could change: strict refuses, warn tells, off is silent; absent: strict in system "
                "folders, else warn"),
          Field("check", &T::check,
                "look at every call between Tenon and its plugins: lifetimes of objects, capacities of structs, memory "
                "around "
                "buffers and workspaces; slow, for finding faults of plugins"),
      });
  return table;
}

}  // namespace tenon

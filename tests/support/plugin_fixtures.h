#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "core/plugin/plugin_registry.h"
#include "tests/support/build_folder.h"

namespace tenon::testing_support {

// <build>/fixtures/<name>/<name>.so, built from tests/fixtures.
inline std::string FixtureFolder(const std::string& name) {
  return std::filesystem::canonical(BuildFolder()).string() + "/fixtures/" + name;
}
inline std::string FixtureFile(const std::string& name) { return FixtureFolder(name) + "/" + name + ".so"; }

// Options of a registry that searches nothing by itself.
inline PluginRegistry::Options BareOptions(ThreadPool* pool = nullptr) {
  PluginRegistry::Options options;
  options.host.pool = pool;
  options.search.default_folder = "/nowhere";
  options.search.use_environment = false;
  return options;
}

inline PluginLoadEntry PathEntry(std::string path, bool required = true) {
  PluginLoadEntry entry;
  entry.path = std::move(path);
  entry.required = required;
  return entry;
}
inline PluginLoadEntry NameEntry(std::string name, bool required = true) {
  PluginLoadEntry entry;
  entry.name = std::move(name);
  entry.required = required;
  return entry;
}

// A `plugins:` section that loads these fixtures by path.
inline PluginsConfig LoadFixtures(std::initializer_list<const char*> names) {
  PluginsConfig config;
  config.trust = TrustPolicy::kOff;
  for (const char* name : names) config.load.push_back(PathEntry(FixtureFile(name)));
  return config;
}

}  // namespace tenon::testing_support

#include "tools/tenon/plugin_selection.h"

#include "core/train/run_config.h"

namespace tenon {

Result<PluginsConfig> ReadPluginsSection(const std::string& config_file) {
  if (config_file.empty()) return PluginsConfig{};
  ConfigSource source;
  source.path = config_file;
  TENON_ASSIGN(const RunConfig run, LoadRunConfig(source, RunConfigPart::kPluginsOnly));
  return run.plugins;
}

PluginRegistry::Options OnlyNamedFiles() {
  PluginRegistry::Options options;
  options.search.default_folder = "";
  options.search.use_environment = false;
  return options;
}

}  // namespace tenon

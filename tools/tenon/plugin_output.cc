#include "tools/tenon/plugin_output.h"

#include "core/base/text.h"
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

std::string WrapLines(const std::string& text, std::size_t indent, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  for (const std::string& word : Split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      out += margin + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) out += margin + line + "\n";
  return out;
}

}  // namespace tenon

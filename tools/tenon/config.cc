#include "tools/tenon/config.h"

#include <cstdio>

#include "core/train/layer_reference.h"
#include "core/train/run_config.h"
#include "tools/cli/cli.h"

namespace tenon {

int RunConfigShow(const ConfigShowOptions& options) {
  ConfigSource source;
  source.path = options.config;
  source.overrides = options.overrides;
  const auto part = options.plugins_only ? RunConfigPart::kPluginsOnly : RunConfigPart::kAll;
  const Result<RunConfig> config = LoadRunConfig(source, part);
  if (!config.ok()) {
    cli::Report(config.status());
    return 2;
  }
  const std::string text = options.json ? PrintRunConfigJson(*config) : PrintRunConfig(*config);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int RunConfigSchema(const ConfigSchemaOptions& options) {
  const std::string text = options.layers     ? LayersMarkdown()
                           : options.markdown ? RunConfigSchemaMarkdown()
                                              : RunConfigSchemaJson();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace tenon

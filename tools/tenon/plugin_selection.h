#pragma once

#include <string>

#include "core/base/status.h"
#include "core/plugin/plugin_config.h"
#include "core/plugin/plugin_registry.h"

namespace tenon {

// The `plugins:` section of a run file; an empty one when no file is named.
Result<PluginsConfig> ReadPluginsSection(const std::string& config_file);

// A registry that looks at the files of `load` only.
PluginRegistry::Options OnlyNamedFiles();

}  // namespace tenon

#pragma once

#include "core/base/status.h"
#include "core/plugin/plugin_config.h"

namespace tenon {

// Replaces the entries of `plugins.load` that say `legacy: aot` by one entry of the adapter plugin legacy_aot, which gets the
// libraries as its options. Each library is checked first, as a plugin is, but for the note that it cannot have.
Result<PluginsConfig> WithLegacyAdapter(PluginsConfig config);

}  // namespace tenon

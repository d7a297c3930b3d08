#pragma once

#include <cstddef>

#include "core/plugin/plugin_registry.h"

namespace tenon {

// Opens one sound row of a registry in a process of its own, so that a damaged plugin ends that one, and writes into `report`,
// the row as it was found, what became of it. Call while the process has one thread.
void ProbePlugin(PluginRegistry* registry, std::size_t row, PluginReport* report);

// Did the plugin end the process that opened it?
bool CrashedWhenProbed(const PluginReport& report);

}  // namespace tenon

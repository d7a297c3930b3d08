#pragma once

#include <string>

#include "core/config/table.h"

namespace tenon {

// The reference page docs/reference/layers.md: every layer of `network.layers` with its keys, from the layers' own tables.
std::string LayersMarkdown();

// An entry of `network.layers`: the name of a layer, or a map of one name to its keys.
ConfigType LayerEntryType();

}  // namespace tenon

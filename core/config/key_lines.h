#pragma once

#include <string>

#include "core/config/node.h"

namespace tenon {

// The tree as text that can be compared key by key: one line "path: value" for each value in the order of the tree, such as
// "train.epochs: 4" or "network.layers.0.conv.filters: 6". Lists of scalars stand on one line; values are flow YAML.
std::string KeyLines(const ConfigNode& root);

}  // namespace tenon

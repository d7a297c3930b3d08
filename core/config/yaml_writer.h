#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/config/node.h"

namespace tenon {

// The tree as YAML that reads back as the same tree (placeholders in text are escaped). Values that fit into a line of
// 100 characters stand in flow form. The root must be a map.
std::string WriteYaml(const ConfigNode& root);

// One value in flow form on one line: "[1, 2]", "{type: sgd}", "0.5".
std::string WriteFlowYaml(const ConfigNode& node);

// The tree as JSON: plain scalars become numbers, booleans or null where they read as such.
nlohmann::ordered_json ToJson(const ConfigNode& node);

}  // namespace tenon

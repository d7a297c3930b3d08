#pragma once

#include <memory>
#include <string_view>

#include "core/base/status.h"
#include "core/config/node.h"

namespace tenon {

// Reads one YAML 1.2 document into a tree with exact places. Anchors and aliases are resolved; `<<` merges maps, where a
// key that is written directly wins over a merged one and an earlier merged map over a later one.
// Errors (INVALID_ARGUMENT with the place): text that is not UTF-8, control characters, tabs in indentation, bad syntax,
// repeated keys (both lines are named), keys that are not plain text, tags, directives, a second document, an empty
// file, a tree deeper than 64 or larger than 1 000 000 nodes.
Result<ConfigNode> ReadYaml(std::string_view text, const std::shared_ptr<const ConfigOrigin>& origin);

// As ReadYaml for a value in flow syntax ("[1, 2]", "{a: 1}", "'text'"): all places are `place`.
Result<ConfigNode> ReadFlowYaml(std::string_view text, const Place& place);

}  // namespace tenon

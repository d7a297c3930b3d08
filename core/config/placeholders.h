#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/config/node.h"
#include "core/config/problems.h"

namespace tenon {

// The value of an environment variable, or nothing when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

// Replaces placeholders in all scalar values of a tree (never in keys):
//   ${NAME}           the variable's content; empty text when it is set to nothing; an error when it is not set
//   ${NAME:default}   the default (may be empty) when the variable is not set or set to nothing
//   $${               the two characters ${
// It happens after parsing, once: content cannot add keys or be replaced again. The field that reads the value types
// it: quotes around a placeholder do not make text of a number.
ConfigNode FillPlaceholders(const ConfigNode& root, const EnvironmentLookup& environment, ConfigProblems& problems);

}  // namespace tenon

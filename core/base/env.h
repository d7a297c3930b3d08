#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon {

// The only place that reads the process environment. Empty and unset differ.
std::optional<std::string> GetEnv(const char* name);

// All of it, "NAME=value".
std::vector<std::string> Environment();

}  // namespace tenon

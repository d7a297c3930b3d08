#pragma once

#include <optional>
#include <string>

namespace tenon {

// The only place that reads the process environment. Empty and unset differ.
std::optional<std::string> GetEnv(const char* name);

}  // namespace tenon

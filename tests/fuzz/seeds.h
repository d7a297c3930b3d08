#pragma once

#include <string>
#include <vector>

namespace tenon::fuzz {

// Well-formed inputs of the target; each target defines its own.
std::vector<std::string> Seeds();

}  // namespace tenon::fuzz

// JSON as people write it: what fits on a line stands on one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tenon::msopgen {

// Ends with a line break.
std::string PrettyText(const nlohmann::ordered_json& value);

}  // namespace tenon::msopgen

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/status.h"

namespace tenon::msopgen {

// A text with holes:
//   {{name}}                    the value of a name, looked up in the innermost section first
//   {{#name}} ... {{/name}}     once for each item of a list; once for an object, a text or true; not for false or null
//   {{^name}} ... {{/name}}     once where the other form would write nothing
//   {{.}}                       the item itself
// A section's mark that is alone in its line takes the line with it. A name that nobody knows is an error.
Result<std::string> Render(const std::string& text, const nlohmann::json& values, const std::string& name);

}  // namespace tenon::msopgen

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/msopgen/formula.h"

namespace tenon::msopgen {

// The values that the templates of one operator need.
nlohmann::json OperatorValues(const Operator& op, const Layout& layout, const Formula& formula,
                              const std::string& domain, const std::vector<std::string>& units);

// The test cases of one operator, as a document.
nlohmann::ordered_json OperatorCases(const Operator& op, const Layout& layout, const Formula& formula);

// True when combinations differ in their outputs alone and the attribute of type `type` decides between them; its name
// in C++ and empty otherwise.
std::string DecidingAttribute(const Operator& op, const Layout& layout);

}  // namespace tenon::msopgen

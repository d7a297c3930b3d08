#pragma once

#include <string>
#include <string_view>

namespace tenon::msopgen {

// The name of files and functions of an operator: `AddCustom` -> `add_custom`, `AbcAAc` -> `abc_a_ac`. A capital after a
// lower-case letter or a digit, or before a lower-case letter and after a capital, starts a new word.
std::string SnakeCase(std::string_view name);

// Why a name cannot be used; empty when it can. Each reason is a full sentence and states the rule.
std::string WhyNoOperatorName(std::string_view name);
std::string WhyNoParameterName(std::string_view name);
std::string WhyNoDomain(std::string_view domain);
std::string WhyNoProjectName(std::string_view name);

// A word that C++ keeps for itself.
bool IsCppKeyword(std::string_view word);

}  // namespace tenon::msopgen

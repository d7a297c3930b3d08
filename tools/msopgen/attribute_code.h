#pragma once

#include <string>
#include <vector>

#include "tools/msopgen/op_file.h"

namespace tenon::msopgen {

// "std::vector<int64_t>"
std::string CppType(AttributeType type);
// "TENON_ATTRIBUTE_INTS"
std::string KindOf(AttributeType type);
// Definition of a constant `name` of type tenon_attribute that holds the value; lines of C++.
std::vector<std::string> DefaultCode(AttributeType type, const JsonNode& value, const std::string& name);
// " = 0.5", or nothing for lists.
std::string InitialCode(AttributeType type, const JsonNode* value);

}  // namespace tenon::msopgen

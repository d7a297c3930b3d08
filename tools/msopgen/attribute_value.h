#pragma once

#include <optional>
#include <string>

#include "tools/msopgen/op_file.h"

namespace tenon::msopgen {

// The value as one of the type: "0.5" and "true" are read as what they say, with a note in *why. nullopt with a sentence
// in *why when it does not fit.
std::optional<JsonNode> FitValue(AttributeType type, const JsonNode& value, std::string* why);

// A value of the type that tests can use when the file gives none.
JsonNode SampleValue(AttributeType type);

}  // namespace tenon::msopgen

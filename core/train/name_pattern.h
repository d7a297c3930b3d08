#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// What a pattern with * and ? picks from a list of names: positions, in order. A pattern that picks nothing is an error
// with the nearest name; `what` says what the names are ("parameter").
Result<std::vector<std::size_t>> PickNames(const std::string& pattern, const std::vector<std::string>& names,
                                           std::string_view what);

}  // namespace tenon

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tenon::testing_support {

// What is wrong with a trace by the rules of the Trace Event Format: fields of each phase, names and pids of metadata,
// flows whose ends match and lie in spans, spans that nest or do not touch on each thread. Beyond them every thread must
// have a name. Empty: nothing.
std::vector<std::string> CheckTrace(const nlohmann::json& trace);

}  // namespace tenon::testing_support

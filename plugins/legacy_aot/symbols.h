// What a shared library exports.
#pragma once

#include <string>
#include <vector>

#include "plugins/legacy_aot/extra.h"

namespace tenon::aot {

struct ExportedSymbols {
  std::vector<std::string> functions;        // C functions, sorted
  StringAbi string_abi = StringAbi::kCxx11;  // told by the C++ names among all its symbols; today's when there is none
};

// `handle` is of dlopen. Throws sdk::Failure when the library's tables cannot be read.
ExportedSymbols ReadSymbols(void* handle);

}  // namespace tenon::aot

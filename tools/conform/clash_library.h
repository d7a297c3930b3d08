// A library whose functions have the names of zlib, protobuf and OpenMP and count their calls. It is part of the program.
#pragma once

#include <string>

#include "tools/conform/case.h"

namespace tenon::conform {

// Writes it to a file in a folder for temporary files and returns the path.
std::string WriteClashLibrary(Context& context);

}  // namespace tenon::conform

#pragma once

#include <string>

#include "tools/msopgen/project_files.h"

namespace tenon::msopgen {

// Puts files into a folder, all or none: they are written to a temporary folder beside it and renamed. A file that is there
// already is an error that names it, except those in `replaced`. The folder is made when it is not there.
Status WriteFiles(const std::string& folder, const Files& files, const std::vector<std::string>& replaced = {});

}  // namespace tenon::msopgen

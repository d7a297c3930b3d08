#pragma once

#include <string>

namespace tenon {

// Name of this machine as the system has it; "localhost" where it has none.
std::string HostName();

}  // namespace tenon

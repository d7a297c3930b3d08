#pragma once

#include <string>

namespace tenon {

// Identity of a job of this machine whose launcher does not give one: its process that started all ranks here, and when.
// Empty when there is none that is known.
std::string JobOfStarter();

}  // namespace tenon

#pragma once

#include <cstdint>

namespace tenon::testing {

// Heap allocations of this program through operator new since its start, by all threads.
std::int64_t Allocations();

}  // namespace tenon::testing

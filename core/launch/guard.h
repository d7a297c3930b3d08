#pragma once

#include <functional>

#include "core/base/status.h"

namespace tenon {

// Runs `work` in a child and waits for it, so that each of the two sees the hard end of the other: whoever is left ends
// all that the work has started. Signals are passed on. Returns what the work returned.
Result<int> RunGuarded(const std::function<Result<int>()>& work, double grace_seconds);

}  // namespace tenon

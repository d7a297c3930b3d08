// Speed of two plugins side by side; numbers, not verdicts.
#pragma once

#include <string>

#include "core/base/status.h"
#include "tools/conform/case.h"

namespace tenon::conform {

// Prints what both take for the same work. UNAVAILABLE when one of them would not load.
Status ComparePerformance(const CaseSettings& settings, const std::string& other);

// The child's side: measures one plugin and reports lines "<what> <nanoseconds>" as its remark.
void Measure(Context& context);

}  // namespace tenon::conform

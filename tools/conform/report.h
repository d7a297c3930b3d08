// What the kit prints: for people, as JSON, as JUnit, and the list of all cases.
#pragma once

#include <span>
#include <string>

#include "core/base/status.h"
#include "tools/conform/runner.h"

namespace tenon::conform {

// "L1.43_destroy_pending  passed   12 ms  c.6  <sentence or message>"
std::string TextLine(const CaseResult& result);
std::string TextSummary(std::span<const CaseResult> results);
std::string Json(std::span<const CaseResult> results);
std::string Junit(const std::string& plugin, std::span<const CaseResult> results);

std::string ListText();
std::string ListJson();
// The page docs/reference/conformance.md.
std::string ListMarkdown();

}  // namespace tenon::conform

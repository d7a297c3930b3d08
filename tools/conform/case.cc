#include "tools/conform/case.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/base/number.h"

namespace tenon::conform {

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kExcepted:
      return "excepted";
  }
  return "failed";
}

const Case* FindCase(std::string_view text) {
  const auto number = ParseNumber<int>(text);
  for (const Case& candidate : Cases()) {
    if (number ? candidate.number == *number : text == candidate.name || text == candidate.id()) return &candidate;
  }
  return nullptr;
}

Context::Context(const Case& which, CaseSettings settings) : case_(&which), settings_(std::move(settings)) {}

void Context::Fail(const std::string& text) { End(Outcome::kFailed, text); }

void Context::Skip(const std::string& reason) { End(Outcome::kSkipped, reason); }

void Context::Note(std::string text) { note_ = std::move(text); }

void Context::Finish() {
  if (checks_.load() == 0) Fail("The case came to its end without checking anything; that is a fault of the kit.");
  End(Outcome::kPassed, note_);
}

void Context::End(Outcome outcome, const std::string& text) {
  // The first report counts; other threads stop here until the process ends.
  if (ended_.exchange(true)) {
    for (;;) ::pause();
  }
  const nlohmann::json report = {{"result", OutcomeName(outcome)}, {"message", text}, {"checks", checks_.load()}};
  const std::string line = report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(settings_.result_fd, line.data() + done, line.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  ::_exit(0);
}

}  // namespace tenon::conform

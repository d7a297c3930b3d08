#include "core/config/problems.h"

#include <algorithm>
#include <tuple>

namespace tenon {

void ConfigProblems::AddText(const Place& place, std::string sentence) {
  const std::string at = place.ToString();
  for (const Problem& known : problems_) {
    if (known.sentence == sentence && known.place.ToString() == at) return;
  }
  constexpr std::size_t kShown = 100;
  if (problems_.size() == kShown) {
    ++omitted_;
    return;
  }
  problems_.push_back({place, std::move(sentence)});
}

Status ConfigProblems::ToStatus() const {
  if (problems_.empty()) return Status();
  std::vector<const ConfigOrigin*> origins;
  for (const Problem& problem : problems_) {
    if (std::find(origins.begin(), origins.end(), problem.place.origin.get()) == origins.end()) {
      origins.push_back(problem.place.origin.get());
    }
  }
  std::vector<const Problem*> sorted;
  for (const Problem& problem : problems_) sorted.push_back(&problem);
  const auto key = [&origins](const Problem* problem) {
    const auto origin = std::find(origins.begin(), origins.end(), problem->place.origin.get()) - origins.begin();
    return std::make_tuple(origin, problem->place.line, problem->place.column);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&key](const Problem* a, const Problem* b) { return key(a) < key(b); });

  std::string text = sorted.front()->sentence;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const std::string at = sorted[i]->place.ToString();
    text += fmt::format("\n{}error: {}", at.empty() ? "" : at + ": ", sorted[i]->sentence);
  }
  if (omitted_ > 0) text += fmt::format("\nerror: {} further problems are not shown.", omitted_);
  return Status(Code::kInvalidArgument, std::move(text)).At(sorted.front()->place.ToString());
}

}  // namespace tenon

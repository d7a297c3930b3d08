#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/config/node.h"

namespace tenon {

// Everything that is wrong with a config, so that one run shows it all. Each problem is kept once.
class ConfigProblems {
 public:
  template <class... Args>
  void Add(const Place& place, fmt::format_string<Args...> format, Args&&... args) {
    AddText(place, fmt::format(format, std::forward<Args>(args)...));
  }
  void AddText(const Place& place, std::string sentence);

  bool empty() const { return problems_.empty(); }
  std::size_t count() const { return problems_.size() + omitted_; }

  // OK when there is none. Else INVALID_ARGUMENT whose ToString() has one line "<place>: error: <sentence>" a problem,
  // by file in order of appearance, then by line. Beyond 100 problems the rest is only counted.
  Status ToStatus() const;

 private:
  struct Problem {
    Place place;
    std::string sentence;
  };
  std::vector<Problem> problems_;
  std::size_t omitted_ = 0;
};

}  // namespace tenon

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/comm/rendezvous.h"

namespace tenon {

// One meeting of the ranks for several runs that follow each other: the first run joins, the others go on with keys of their
// own, and the ranks leave after the last. A scheduler that waits for one run serves them all. One thread.
class RunSeries {
 public:
  using JoinFn = std::function<Result<std::unique_ptr<Rendezvous>>(const Rank&, const Handshake&)>;

  explicit RunSeries(JoinFn join) : join_(std::move(join)) {}
  // Leaves in order when the last run has.
  ~RunSeries();
  RunSeries(const RunSeries&) = delete;
  RunSeries& operator=(const RunSeries&) = delete;

  // For the next run; must be gone before the series is. Handshakes are compared when the ranks join: once.
  Result<std::unique_ptr<Rendezvous>> Next(const Rank& rank, const Handshake& handshake);

 private:
  class Run;

  JoinFn join_;
  std::unique_ptr<Rendezvous> meeting_;
  std::uint64_t runs_ = 0;
  bool in_order_ = false;  // the last run has left
};

}  // namespace tenon

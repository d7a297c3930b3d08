#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::profile {

// A clock of a plugin against the host's (MonotonicRawNs), by pairs of readings of both.
class ClockDomain {
 public:
  // `bits`: width of the counter, which wraps; 0 stands for 64.
  ClockDomain(std::string name, double ns_per_tick, std::uint64_t bits);

  // Pairs come in the order in which they were taken.
  void AddPair(std::uint64_t ticks, std::int64_t host_ns, std::uint64_t uncertainty_ns);

  // Host time of a reading: between two pairs on the line through them, outside on the line at the stated rate through
  // the nearest. `near_ns` is a host time less than half a turn of the counter away. Without a pair: near_ns.
  std::int64_t ToHost(std::uint64_t ticks, std::int64_t near_ns) const;

  const std::string& name() const { return name_; }
  // The largest of its pairs.
  std::uint64_t uncertainty_ns() const { return uncertainty_ns_; }

 private:
  struct Pair {
    std::int64_t ticks;  // turns of the counter included
    std::int64_t host_ns;
  };
  // A reading with the turns that bring it next to `expected`.
  std::int64_t Unwrap(std::uint64_t ticks, std::int64_t expected) const;
  std::int64_t TicksAt(std::int64_t host_ns) const;

  std::string name_;
  double ns_per_tick_;
  std::uint64_t bits_;
  std::vector<Pair> pairs_;
  std::uint64_t uncertainty_ns_ = 0;
};

}  // namespace tenon::profile

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenon {

// Distribution of durations in fixed memory: buckets 1 % apart from 100 ns to about 20 minutes. Add allocates nothing.
// One thread at a time.
class StepTimes {
 public:
  void Add(double milliseconds);
  std::int64_t count() const { return count_; }
  // The duration that the fraction `q` of all stays below, to 1 %; nullopt when there is none.
  std::optional<double> Quantile(double q) const;
  std::optional<double> Mean() const;

 private:
  static constexpr std::size_t kBuckets = 2400;
  std::array<std::int64_t, kBuckets> buckets_{};
  std::int64_t count_ = 0;
  double total_ms_ = 0;
};

}  // namespace tenon

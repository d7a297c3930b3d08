#include "core/train/step_times.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

constexpr double kLowestMs = 1e-4;
const double kLogRatio = std::log(1.01);

}  // namespace

void StepTimes::Add(double milliseconds) {
  const double position = milliseconds > kLowestMs ? std::log(milliseconds / kLowestMs) / kLogRatio : 0;
  ++buckets_[std::min(static_cast<std::size_t>(position), kBuckets - 1)];
  ++count_;
  total_ms_ += milliseconds;
}

std::optional<double> StepTimes::Quantile(double q) const {
  if (count_ == 0) return std::nullopt;
  const std::int64_t rank =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count_))));
  std::int64_t seen = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < kBuckets && seen + buckets_[bucket] < rank) seen += buckets_[bucket++];
  return kLowestMs * std::exp((static_cast<double>(bucket) + 0.5) * kLogRatio);
}

std::optional<double> StepTimes::Mean() const {
  if (count_ == 0) return std::nullopt;
  return total_ms_ / static_cast<double>(count_);
}

}  // namespace tenon

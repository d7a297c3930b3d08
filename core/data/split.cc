#include "core/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/data/counter_rng.h"

namespace tenon {

namespace {

// Marks of the rows that are for testing.
std::vector<char> TestByFraction(std::int64_t count, double fraction, std::uint64_t seed) {
  const std::int64_t wanted = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::llround(static_cast<double>(count) * fraction)), 1, count - 1);
  const CounterRng rng(seed, streams::kSplit);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  std::nth_element(rows.begin(), rows.begin() + wanted, rows.end(), [&](std::int64_t a, std::int64_t b) {
    const std::uint64_t x = rng.Bits(static_cast<std::uint64_t>(a));
    const std::uint64_t y = rng.Bits(static_cast<std::uint64_t>(b));
    return x != y ? x < y : a < b;
  });
  std::vector<char> test(static_cast<std::size_t>(count), 0);
  for (std::int64_t i = 0; i < wanted; ++i) test[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])] = 1;
  return test;
}

std::vector<char> TestByEvery(std::int64_t count, std::int64_t every) {
  std::vector<char> test(static_cast<std::size_t>(count), 0);
  for (std::int64_t row = every - 1; row < count; row += every) test[static_cast<std::size_t>(row)] = 1;
  return test;
}

}  // namespace

Result<SplitParts> SplitRows(std::int64_t count, const SplitRule& rule, std::uint64_t seed) {
  std::vector<char> test(static_cast<std::size_t>(count), 0);
  if (rule.every != 0) {
    TENON_INVALID_IF(rule.every < 2, "The split every_{} leaves no samples for training; every_2 is the smallest.",
                     rule.every);
    TENON_INVALID_IF(rule.every > count, "The split every_{} finds no test sample among {} samples.", rule.every,
                     count);
    test = TestByEvery(count, rule.every);
  } else if (rule.fraction != 0) {
    TENON_INVALID_IF(!(rule.fraction > 0 && rule.fraction < 1), "The test part is {}; it must lie between 0 and 1.",
                     rule.fraction);
    TENON_INVALID_IF(count < 2, "A split needs at least 2 samples, but there is {}.", count);
    test = TestByFraction(count, rule.fraction, seed);
  }
  SplitParts parts;
  for (std::int64_t row = 0; row < count; ++row)
    (test[static_cast<std::size_t>(row)] ? parts.test : parts.train).push_back(row);
  return parts;
}

}  // namespace tenon

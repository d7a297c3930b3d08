#include "core/data/mixup.h"

#include <cmath>
#include <numbers>

namespace tenon {

namespace {

// Marsaglia and Tsang 2000. Counters from `first` on are used.
double DrawGamma(double alpha, const CounterRng& rng, std::uint64_t first) {
  const auto positive = [&](std::uint64_t counter) { return 1 - rng.UniformDouble(counter); };  // in (0, 1]
  if (alpha < 1) return DrawGamma(alpha + 1, rng, first + 1) * std::pow(positive(first), 1 / alpha);
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t at = first;; at += 3) {
    const double normal =
        std::sqrt(-2 * std::log(positive(at))) * std::cos(2 * std::numbers::pi_v<double> * rng.UniformDouble(at + 1));
    const double v = std::pow(1 + c * normal, 3);
    if (v > 0 && std::log(positive(at + 2)) < normal * normal / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double DrawBeta(double alpha, const CounterRng& rng) {
  const double x = DrawGamma(alpha, rng, 0);
  const double y = DrawGamma(alpha, rng, std::uint64_t{1} << 32);
  // A tiny alpha can make both 0; the limit of Beta is then either end.
  return x + y > 0 ? x / (x + y) : static_cast<double>(rng.Bits(std::uint64_t{2} << 32) & 1);
}

void MixRows(float share, float* rows, std::int64_t count, std::int64_t width, std::vector<float>* spare) {
  if (count < 2) return;
  spare->assign(rows + (count - 1) * width, rows + count * width);
  for (std::int64_t i = count - 1; i >= 0; --i) {
    float* row = rows + i * width;
    const float* before = i > 0 ? row - width : spare->data();
    MixPairs(share, row, before, width);
  }
}

void MixPairs(float share, float* values, const float* others, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) values[k] = share * values[k] + (1 - share) * others[k];
}

}  // namespace tenon

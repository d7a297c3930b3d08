#pragma once

#include <cstdint>
#include <vector>

#include "core/data/counter_rng.h"

namespace tenon {

// A number from Beta(alpha, alpha), alpha > 0: x / (x + y) of two gamma variables.
double DrawBeta(double alpha, const CounterRng& rng);

// Mixes `count` rows of `width` floats: row i becomes share * row i + (1 - share) * row i - 1, where the row before the
// first is the last. `spare` is memory.
void MixRows(float share, float* rows, std::int64_t count, std::int64_t width, std::vector<float>* spare);

// The same with the row to mix with given beside each: value i becomes share * values[i] + (1 - share) * others[i].
void MixPairs(float share, float* values, const float* others, std::int64_t count);

}  // namespace tenon

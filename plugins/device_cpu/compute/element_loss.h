// Losses that compare predictions with targets element by element.
#pragma once

#include <cstdint>

namespace tenon::cpu {

enum class ElementLoss : uint32_t { kSquared, kAbsolute, kSmooth, kLogits };

// Elements of one partial sum. Sums do not depend on the number of threads.
constexpr int64_t kLossBlock = 4096;

// d = x - t. kSquared d^2; kAbsolute |d|; kSmooth d^2 / (2 beta) where |d| < beta, else |d| - beta / 2; kLogits
// (1 - t) x + log(1 + exp(-x)). Either out[i] gets the loss of element i, or (out null) sums[k] that of block k.
struct ElementLossArgs {
  ElementLoss loss = ElementLoss::kSquared;
  int64_t count = 0;
  float beta = 1;
  const float* x = nullptr;
  const float* t = nullptr;
  float* out = nullptr;
  float* sums = nullptr;
};

// dx[i] = the derivative by x[i], times dloss[i] (if not null) and scale. dx may be x, t or dloss.
struct ElementLossGradArgs {
  ElementLoss loss = ElementLoss::kSquared;
  int64_t count = 0;
  float beta = 1, scale = 1;
  const float* x = nullptr;
  const float* t = nullptr;
  const float* dloss = nullptr;
  float* dx = nullptr;
};

}  // namespace tenon::cpu

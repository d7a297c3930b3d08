// The gradient of x or, below 0, slope times x, with a slope per channel.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Tensors as [outer][channels][inner]: dx = dy where x > 0, else slope[channel] * dy; d_slope = the sum of dy * min(x, 0), NaN
// where x is. Each result may be null; dx may be dy.
struct PReluGradArgs {
  int64_t outer = 1, channels = 1, inner = 1;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* slope = nullptr;
  float* dx = nullptr;
  float* d_slope = nullptr;
};

}  // namespace tenon::cpu

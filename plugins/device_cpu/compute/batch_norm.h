// Batch normalisation over tensors seen as [outer][channels][inner]: inner is 1 for channel-last images, the area of a
// plane for channel-first ones.
#pragma once

#include <cstdint>

namespace tenon::cpu {

struct BatchNormShape {
  int64_t outer = 0, channels = 0, inner = 1;
};

// mean[c] and var[c] (biased: divided by outer * inner), in two passes.
struct BatchNormStatsArgs {
  BatchNormShape shape;
  const float* x = nullptr;
  float* mean = nullptr;
  float* var = nullptr;
};

// y = (x - mean) * inv_std * scale + bias, then max(0, .) if relu. y may be x.
struct BatchNormApplyArgs {
  BatchNormShape shape;
  const float* x = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  bool relu = false;
  float* y = nullptr;
};

// With h = (x - mean) * inv_std: d_bias = sum dy, d_scale = sum dy h, and (training: mean and inv_std came from x)
// dx = scale * inv_std * (dy - d_bias / m - h d_scale / m), m = outer * inner; else dx = scale * inv_std * dy.
// d_scale and d_bias must be given; dx may be null, or dy.
struct BatchNormGradArgs {
  BatchNormShape shape;
  const float* x = nullptr;
  const float* dy = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* scale = nullptr;
  bool training = true;
  float* dx = nullptr;
  float* d_scale = nullptr;
  float* d_bias = nullptr;
};

}  // namespace tenon::cpu

// Normalisation of each sample over groups of its channels, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Images as [samples][channels][area], or [samples][area][channels] when channel-last. Neighbouring channels form groups.
struct GroupNormShape {
  int64_t samples = 0, channels = 0, area = 1;
  int64_t groups = 1;
  bool channel_last = false;
  float epsilon = 1e-5f;
};

// y = (x - mean) * inv_std * scale + bias, mean and inv_std over a group of one sample. scale and bias hold a number per
// channel, or per group. y may be x.
struct GroupNormArgs {
  GroupNormShape shape;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  bool scale_per_group = false;
  float* y = nullptr;
};

// With xhat = (x - mean) * inv_std and g = dy * scale, over a group of n values: dx = inv_std * (g - (sum g + xhat * sum(g *
// xhat)) / n); per channel d_scale = sum of dy * xhat, d_bias = sum of dy. Each result may be null; dx may be dy.
struct GroupNormGradArgs {
  GroupNormShape shape;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* scale = nullptr;
  float* dx = nullptr;
  float* d_scale = nullptr;
  float* d_bias = nullptr;
};

// Floats of workspace for either.
constexpr int64_t GroupNormWorkspace(const GroupNormShape& s) { return 6 * ((s.samples * s.channels + 15) / 16 * 16); }

}  // namespace tenon::cpu

// Batch normalisation over tensors seen as [outer][channels][inner]: inner is 1 for channel-last images, the area of a
// plane for channel-first ones.
#pragma once

#include <cstdint>

namespace tenon::cpu {

struct BatchNormShape {
  int64_t outer = 0, channels = 0, inner = 1;
};

// mean[c] and var[c] (biased: divided by outer * inner), in two passes.
template <class T>
struct BatchNormStatsArgsOf {
  BatchNormShape shape;
  const T* x = nullptr;
  float* mean = nullptr;
  float* var = nullptr;
};
using BatchNormStatsArgs = BatchNormStatsArgsOf<float>;

// What follows the normalisation: nothing, or limits low and high (NaN passes).
struct BatchNormLimits {
  bool limited = false;
  float low = 0, high = 0;
};

// y = limits((x - mean) * inv_std * scale + bias + residual). residual [shape of x] or null. y may be x or residual.
template <class T>
struct BatchNormApplyArgsOf {
  BatchNormShape shape;
  const T* x = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  const T* residual = nullptr;
  BatchNormLimits limits;
  T* y = nullptr;
};
using BatchNormApplyArgs = BatchNormApplyArgsOf<float>;

// Where the gradient of y passes: everywhere; where the value before the limits is above 0 (Relu), or not outside of them
// (Clip), which is computed again from x; or where y is above 0. NaN lets it pass.
enum class BatchNormMask : uint32_t { kNone, kAboveZero, kInside, kOutputAboveZero };

// With h = (x - mean) * inv_std: d_bias = sum dy, d_scale = sum dy h, and (training: mean and inv_std came from x)
// dx = scale * inv_std * (dy - d_bias / m - h d_scale / m), m = outer * inner; else dx = scale * inv_std * dy.
// dy is masked first; d_residual, if not null, takes what passes.
// d_scale and d_bias must be given; dx may be null; dx or d_residual may be dy.
template <class T>
struct BatchNormGradArgsOf {
  BatchNormShape shape;
  const T* x = nullptr;
  const T* dy = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;  // for kAboveZero and kInside
  const T* y = nullptr;         // for kOutputAboveZero
  BatchNormMask mask = BatchNormMask::kNone;
  BatchNormLimits limits;
  bool training = true;
  T* dx = nullptr;
  T* d_residual = nullptr;
  float* d_scale = nullptr;
  float* d_bias = nullptr;
};
using BatchNormGradArgs = BatchNormGradArgsOf<float>;

}  // namespace tenon::cpu

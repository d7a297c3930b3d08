// Update steps over flat tensors, with PyTorch's semantics (dampening 0, no maximize, no amsgrad). Denormal numbers count as
// zero here: moments of weights without a gradient decay into them and would stay, and most processors are slow on them.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// g += weight_decay * p; m = momentum * m + g; p -= lr * (nesterov ? g + momentum * m : m). Without momentum (0) m may be
// null and p -= lr * g. The outputs may be the inputs.
struct SgdArgs {
  int64_t count = 0;
  const float* p = nullptr;
  const float* g = nullptr;
  const float* m = nullptr;
  float* p_out = nullptr;
  float* m_out = nullptr;
  float lr = 0, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  float grad_scale = 1.0f;  // g is multiplied by it first
};

// Adam: g += weight_decay * p. AdamW (decoupled): p *= 1 - lr * weight_decay.
// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g; p -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps).
struct AdamArgs {
  int64_t count = 0;
  const float* p = nullptr;
  const float* g = nullptr;
  const float* m = nullptr;
  const float* v = nullptr;
  float* p_out = nullptr;
  float* m_out = nullptr;
  float* v_out = nullptr;
  float lr = 0, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0;
  bool decoupled = false;
  double bias1 = 1, bias2 = 1;  // 1 - b1^t, 1 - b2^t
  float grad_scale = 1.0f;
};

// m and v as Adam's; r = m / bias1 / (sqrt(v / bias2) + eps) + weight_decay * p; p -= lr |p| / |r| r over this one tensor, the
// factor 1 where either norm is 0. `sums` has LambSums(count) floats.
struct LambArgs {
  int64_t count = 0;
  const float* p = nullptr;
  const float* g = nullptr;
  const float* m = nullptr;
  const float* v = nullptr;
  float* p_out = nullptr;
  float* m_out = nullptr;
  float* v_out = nullptr;
  float lr = 0, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f, weight_decay = 0;
  double bias1 = 1, bias2 = 1;  // 1 - b1^t, 1 - b2^t
};

// out = keep * old + take * now, where old may be null: out = take * now. out may be old or now.
struct BlendArgs {
  int64_t count = 0;
  const float* old = nullptr;
  const float* now = nullptr;
  float* out = nullptr;
  float keep = 1, take = 1;
};

constexpr int64_t kLambBlock = 4096;  // elements of one partial sum
constexpr int64_t LambSums(int64_t count) { return 2 * ((count + kLambBlock - 1) / kLambBlock); }

}  // namespace tenon::cpu

// Scaled dot-product attention without the matrix of probabilities in memory.
#pragma once

#include <cstdint>

#include "plugins/device_cpu/compute/tile_multiplier.h"

namespace tenon::cpu {

// Element c of row i of head h of sample b lies at b * sample + h * head + i * row + c.
struct AttentionOperand {
  int64_t sample = 0, head = 0, row = 0;
  int64_t base(int64_t b, int64_t h) const { return b * sample + h * head; }
};

// y[i] = sum_j drop(p[i, j]) v[j], p[i, :] = softmax_j(scale q[i] . k[j] + mask[i, j]); with causal, keys j > i are left
// out. A query without keys gives 0 and log_sum -inf. mask is floats to add or bytes (0: left out) or null; strides in
// elements over batch, heads, queries, keys, the last one 0 or 1. A key that the mask leaves out should hold numbers: its
// NaN or infinity in v may pass.
template <class T>
struct AttentionArgsOf {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  AttentionOperand q_at, k_at, v_at, y_at;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  float scale = 1.0f;
  bool causal = false;
  const float* mask = nullptr;
  const uint8_t* mask_bytes = nullptr;
  int64_t mask_strides[4] = {};
  double dropout = 0;
  uint64_t random_key = 0, random_offset = 0;
  const TileMultiplier* unit = nullptr;  // multiplies pairs of bf16 in place of vectors
};
using AttentionArgs = AttentionArgsOf<float>;

template <class T>
struct AttentionForwardArgsOf {
  AttentionArgsOf<T> of;
  T* y = nullptr;
  float* log_sum = nullptr;  // [batch, heads, queries] or null
};
using AttentionForwardArgs = AttentionForwardArgsOf<float>;

// dq, dk, dv are laid out as q, k, v; each may be null. y and dy are laid out as y_at says.
template <class T>
struct AttentionGradArgsOf {
  AttentionArgsOf<T> of;
  const T* y = nullptr;
  const T* dy = nullptr;
  const float* log_sum = nullptr;
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
};
using AttentionGradArgs = AttentionGradArgsOf<float>;

}  // namespace tenon::cpu

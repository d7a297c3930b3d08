// The loss of class scores against labels, and its gradient.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// What one position's loss is made of: -sum over classes of share[c] * log_prob[c], share[c] = weights[c] * ((1 - smoothing) for
// the label + smoothing / classes).
struct ClassShares {
  const float* weights = nullptr;  // [classes]; null: all 1
  float smoothing = 0;
};

// scores [images][classes][area], labels [images][area]: in [0, classes), or negative where the position does not count and
// both its loss and its gradient are 0.
struct CrossEntropyArgs {
  int64_t images = 0, classes = 0, area = 1;
  const float* scores = nullptr;
  const int64_t* labels = nullptr;
  ClassShares shares;
  float* loss = nullptr;      // [images][area]
  float* log_prob = nullptr;  // [images][classes][area], or null
};
// d_scores = scale * (exp(log_prob) * sum of share - share); it may be log_prob.
struct CrossEntropyGradArgs {
  int64_t images = 0, classes = 0, area = 1;
  const float* log_prob = nullptr;
  const int64_t* labels = nullptr;
  ClassShares shares;
  float scale = 1.0f;
  const float* position_scale = nullptr;  // [images][area], a further factor; or null
  float* d_scores = nullptr;
};

}  // namespace tenon::cpu

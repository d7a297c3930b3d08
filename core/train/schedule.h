#pragma once

#include <cstdint>

#include "core/train/run_config.h"

namespace tenon {

// Learning rate of optimiser step `step` (from 0) of `total` steps with `per_epoch` steps an epoch. Warm-up rises linearly:
// step s of w warm-up steps uses (s + 1) / w of the rate; the schedule proper covers the steps after it.
//   constant: lr     step: lr * gamma^(epoch / every)     cosine: min_lr + (lr - min_lr) * (1 + cos(pi * progress)) / 2
double LearningRateAt(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t total,
                      std::int64_t per_epoch);

}  // namespace tenon

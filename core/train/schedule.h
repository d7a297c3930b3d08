#pragma once

#include <cstdint>

#include "core/train/run_config.h"

namespace tenon {

// Learning rate of optimiser step `step` (from 0) of `total` steps with `per_epoch` steps an epoch. Warm-up rises linearly:
// step s of w warm-up steps uses (s + 1) / w of the first rate. With t steps since the warm-up, T steps after it in all and
// e finished epochs of the run:
//   constant     lr
//   step         lr * gamma^(e / every), whole numbers                    torch StepLR
//   multi_step   lr * gamma^(milestones that e has reached)               torch MultiStepLR
//   cosine       min_lr + (lr - min_lr) * (1 + cos(pi * t / T)) / 2       torch CosineAnnealingLR
//   polynomial   min_lr + (lr - min_lr) * (1 - t / T)^power               torch PolynomialLR, nn.polynomial_decay_lr
//   exponential  lr * gamma^(epochs / every), parts of epochs count       torch ExponentialLR each `every` epochs
//   one_cycle    lr / div_factor up to lr, down to the last rate          torch OneCycleLR without its momentum
double LearningRateAt(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t total,
                      std::int64_t per_epoch);

}  // namespace tenon

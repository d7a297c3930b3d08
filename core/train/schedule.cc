#include "core/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon {
namespace {

double After(const ConstantScheduleConfig&, double lr, std::int64_t, std::int64_t, std::int64_t) { return lr; }

double After(const StepScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t, std::int64_t per_epoch) {
  const std::int64_t epoch = step / std::max<std::int64_t>(1, per_epoch);
  return lr * std::pow(schedule.gamma, static_cast<double>(epoch / schedule.every));
}

double After(const CosineScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t total, std::int64_t) {
  const std::int64_t span = std::max<std::int64_t>(1, total - schedule.warmup_steps);
  const double progress =
      std::clamp(static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(span), 0.0, 1.0);
  return schedule.min_lr + (lr - schedule.min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace

double LearningRateAt(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t total,
                      std::int64_t per_epoch) {
  return std::visit(
      [&](const auto& kind) {
        if (step < kind.warmup_steps)
          return lr * static_cast<double>(step + 1) / static_cast<double>(kind.warmup_steps);
        return After(kind, lr, step, total, per_epoch);
      },
      schedule);
}

}  // namespace tenon

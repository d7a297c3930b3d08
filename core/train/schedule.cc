#include "core/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon {
namespace {

// Where a step stands: its epoch (from 0), and in the run after the warm-up.
struct At {
  std::int64_t step, per_epoch;  // of the run
  double after, span;            // steps since the warm-up, and how many there are after it
  std::int64_t epoch() const { return step / per_epoch; }
  double progress() const { return std::clamp(after / span, 0.0, 1.0); }
};

double HalfCosine(double from, double to, double part) {
  return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * part));
}

double Rate(const ConstantScheduleConfig&, double lr, const At&) { return lr; }

double Rate(const StepScheduleConfig& schedule, double lr, const At& at) {
  return lr * std::pow(schedule.gamma, static_cast<double>(at.epoch() / schedule.every));
}

double Rate(const MultiStepScheduleConfig& schedule, double lr, const At& at) {
  const auto passed = std::upper_bound(schedule.milestones.begin(), schedule.milestones.end(), at.epoch());
  return lr * std::pow(schedule.gamma, static_cast<double>(passed - schedule.milestones.begin()));
}

double Rate(const CosineScheduleConfig& schedule, double lr, const At& at) {
  return HalfCosine(lr, schedule.min_lr, at.progress());
}

double Rate(const PolynomialScheduleConfig& schedule, double lr, const At& at) {
  return schedule.min_lr + (lr - schedule.min_lr) * std::pow(1.0 - at.progress(), schedule.power);
}

double Rate(const ExponentialScheduleConfig& schedule, double lr, const At& at) {
  const double epochs = static_cast<double>(at.step) / static_cast<double>(at.per_epoch);
  return lr * std::pow(schedule.gamma, epochs / static_cast<double>(schedule.every));
}

// Phases end at steps counted from 0, so that the last step of the run has the last rate.
double Rate(const OneCycleScheduleConfig& schedule, double lr, const At& at) {
  const double first = lr / schedule.div_factor, last = first / schedule.final_div_factor;
  struct Phase {
    double end, from, to;
  };
  const double rise = schedule.pct_start * at.span, end = at.span - 1;
  std::vector<Phase> phases = {{rise - 1, first, lr}};
  if (schedule.three_phase) phases.push_back({2 * rise - 2, lr, first});
  phases.push_back({end, schedule.three_phase ? first : lr, last});
  double begin = 0;
  for (const Phase& phase : phases) {
    if (at.after <= phase.end) {
      const double part = phase.end > begin ? (at.after - begin) / (phase.end - begin) : 1.0;
      return schedule.anneal == "linear" ? phase.from + (phase.to - phase.from) * part
                                         : HalfCosine(phase.from, phase.to, part);
    }
    begin = phase.end;
  }
  return last;
}

// What the warm-up rises to.
template <class T>
double Start(const T&, double lr) {
  return lr;
}
double Start(const OneCycleScheduleConfig& schedule, double lr) { return lr / schedule.div_factor; }

}  // namespace

double LearningRateAt(const ScheduleConfig& schedule, double lr, std::int64_t step, std::int64_t total,
                      std::int64_t per_epoch) {
  return std::visit(
      [&](const auto& kind) {
        if (step < kind.warmup_steps)
          return Start(kind, lr) * static_cast<double>(step + 1) / static_cast<double>(kind.warmup_steps);
        const std::int64_t span = std::max<std::int64_t>(1, total - kind.warmup_steps);
        return Rate(kind, lr,
                    {step, std::max<std::int64_t>(1, per_epoch), static_cast<double>(step - kind.warmup_steps),
                     static_cast<double>(span)});
      },
      schedule);
}

}  // namespace tenon

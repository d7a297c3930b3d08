#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tenon {

struct ConfigTable;

// How the learning rate changes (section `schedule`). Every kind may begin with `warmup_steps`.
struct ConstantScheduleConfig {
  static constexpr const char* kType = "constant";
  std::int64_t warmup_steps = 0;
};
struct StepScheduleConfig {
  static constexpr const char* kType = "step";
  std::int64_t warmup_steps = 0;
  std::int64_t every = 30;  // epochs
  double gamma = 0.1;
};
struct MultiStepScheduleConfig {
  static constexpr const char* kType = "multi_step";
  std::int64_t warmup_steps = 0;
  std::vector<std::int64_t> milestones;  // epochs, rising
  double gamma = 0.1;
};
struct CosineScheduleConfig {
  static constexpr const char* kType = "cosine";
  std::int64_t warmup_steps = 0;
  double min_lr = 0.0;
};
struct PolynomialScheduleConfig {
  static constexpr const char* kType = "polynomial";
  std::int64_t warmup_steps = 0;
  double power = 1.0;
  double min_lr = 0.0;
};
struct ExponentialScheduleConfig {
  static constexpr const char* kType = "exponential";
  std::int64_t warmup_steps = 0;
  std::int64_t every = 1;  // epochs
  double gamma = 0.95;
};
struct OneCycleScheduleConfig {
  static constexpr const char* kType = "one_cycle";
  std::int64_t warmup_steps = 0;
  double pct_start = 0.3;         // part of the run in which it rises
  double div_factor = 25.0;       // the first rate is lr / div_factor
  double final_div_factor = 1e4;  // the last one the first / final_div_factor
  std::string anneal = "cos";     // cos | linear
  bool three_phase = false;       // down as fast as up, then to the last rate
};
using ScheduleConfig =
    std::variant<ConstantScheduleConfig, StepScheduleConfig, MultiStepScheduleConfig, CosineScheduleConfig,
                 PolynomialScheduleConfig, ExponentialScheduleConfig, OneCycleScheduleConfig>;

const ConfigTable& ConfigTableOf(const ConstantScheduleConfig*);
const ConfigTable& ConfigTableOf(const StepScheduleConfig*);
const ConfigTable& ConfigTableOf(const MultiStepScheduleConfig*);
const ConfigTable& ConfigTableOf(const CosineScheduleConfig*);
const ConfigTable& ConfigTableOf(const PolynomialScheduleConfig*);
const ConfigTable& ConfigTableOf(const ExponentialScheduleConfig*);
const ConfigTable& ConfigTableOf(const OneCycleScheduleConfig*);

}  // namespace tenon

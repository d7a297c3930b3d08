#include "core/train/schedule_config.h"

#include "core/config/fields.h"

namespace tenon {
namespace {

// A table whose first key is the warm-up that all kinds share.
template <class T>
ConfigTable ScheduleTable(std::string sentence, std::vector<ConfigField> own,
                          void (*check)(const ConfigNode&, T&, ConfigReader&) = nullptr) {
  std::vector<ConfigField> fields = {
      Field("warmup_steps", &T::warmup_steps, AtLeast(0), "steps in which the rate rises linearly from 0"),
  };
  for (ConfigField& field : own) fields.push_back(std::move(field));
  return Table<T>(std::move(sentence), std::move(fields), check);
}

void CheckMilestones(const ConfigNode& node, MultiStepScheduleConfig& schedule, ConfigReader& reader) {
  for (std::size_t i = 1; i < schedule.milestones.size(); ++i) {
    if (schedule.milestones[i] > schedule.milestones[i - 1]) continue;
    return reader.Fail(node.Find("milestones")->items()[i].place(), "'{}' must rise, but {} comes after {}.",
                       reader.PathTo("milestones"), schedule.milestones[i], schedule.milestones[i - 1]);
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const ConstantScheduleConfig*) {
  static const ConfigTable table = ScheduleTable<ConstantScheduleConfig>("The rate stays.", {});
  return table;
}

const ConfigTable& ConfigTableOf(const StepScheduleConfig*) {
  using T = StepScheduleConfig;
  static const ConfigTable table = ScheduleTable<T>(
      "The rate falls in stairs.", {
                                       Field("every", &T::every, AtLeast(1), "epochs between two stairs"),
                                       Field("gamma", &T::gamma, Above(0) & AtMost(1), "factor of each stair"),
                                   });
  return table;
}

const ConfigTable& ConfigTableOf(const MultiStepScheduleConfig*) {
  using T = MultiStepScheduleConfig;
  static const ConfigTable table =
      ScheduleTable<T>("The rate falls in stairs at given epochs.",
                       {
                           Field("milestones", &T::milestones, AtLeast(1) & Count(1, 65536) & Required(),
                                 "finished epochs after which the rate falls, rising"),
                           Field("gamma", &T::gamma, Above(0) & AtMost(1), "factor of each stair"),
                       },
                       CheckMilestones);
  return table;
}

const ConfigTable& ConfigTableOf(const CosineScheduleConfig*) {
  using T = CosineScheduleConfig;
  static const ConfigTable table = ScheduleTable<T>("The rate falls along half a cosine over the whole run.",
                                                    {
                                                        Field("min_lr", &T::min_lr, AtLeast(0), "rate at the end"),
                                                    });
  return table;
}

const ConfigTable& ConfigTableOf(const PolynomialScheduleConfig*) {
  using T = PolynomialScheduleConfig;
  static const ConfigTable table = ScheduleTable<T>("The rate falls with a power of the part of the run that is left.",
                                                    {
                                                        Field("power", &T::power, Above(0), "1 is a straight line"),
                                                        Field("min_lr", &T::min_lr, AtLeast(0), "rate at the end"),
                                                    });
  return table;
}

const ConfigTable& ConfigTableOf(const ExponentialScheduleConfig*) {
  using T = ExponentialScheduleConfig;
  static const ConfigTable table =
      ScheduleTable<T>("The rate falls by the same factor in each span, a little each step.",
                       {
                           Field("every", &T::every, AtLeast(1), "epochs in which it falls by gamma"),
                           Field("gamma", &T::gamma, Above(0) & AtMost(1), "factor of each span"),
                       });
  return table;
}

const ConfigTable& ConfigTableOf(const OneCycleScheduleConfig*) {
  using T = OneCycleScheduleConfig;
  static const ConfigTable table = ScheduleTable<T>(
      "The rate rises to `optimizer.lr` and falls again, once in the run; momentum stays.",
      {
          Field("pct_start", &T::pct_start, Above(0) & Below(1), "part of the run in which it rises"),
          Field("div_factor", &T::div_factor, AtLeast(1), "the first rate is lr / div_factor"),
          Field("final_div_factor", &T::final_div_factor, AtLeast(1), "the last rate is the first / final_div_factor"),
          Field("anneal", &T::anneal, OneOf({"cos", "linear"}), "half cosines or straight lines"),
          Field("three_phase", &T::three_phase, "fall to the first rate as fast as it rose, then on to the last"),
      });
  return table;
}

}  // namespace tenon

#include "core/train/optimizer_config.h"

#include "core/config/fields.h"

namespace tenon {

double LearningRate(const OptimizerConfig& optimizer) {
  return std::visit([](const auto& options) { return options.lr; }, optimizer);
}

namespace {

constexpr const char* kLrSentence = "learning rate, before the schedule";

void CheckSgd(const ConfigNode& node, SgdConfig& sgd, ConfigReader& reader) {
  if (sgd.nesterov && sgd.momentum == 0.0) {
    const ConfigNode* flag = node.Find("nesterov");
    reader.Fail(flag != nullptr ? flag->place() : node.place(), "'{}' needs a momentum above 0.",
                reader.PathTo("nesterov"));
  }
}

template <class T>
std::vector<ConfigField> AdamFields() {
  return {
      Field("lr", &T::lr, AtLeast(0), kLrSentence),
      Field("betas", &T::betas, AtLeast(0) & Below(1), "decay of the first and the second moment"),
      Field("eps", &T::eps, Above(0), "added to the root of the second moment"),
      Field("weight_decay", &T::weight_decay, AtLeast(0), "pull of the weights towards 0"),
  };
}

}  // namespace

const ConfigTable& ConfigTableOf(const SgdConfig*) {
  using T = SgdConfig;
  static const ConfigTable table = Table<T>(
      "Stochastic gradient descent.",
      {
          Field("lr", &T::lr, AtLeast(0), kLrSentence),
          Field("momentum", &T::momentum, AtLeast(0) & Below(1), "share of the last update that is kept"),
          Field("weight_decay", &T::weight_decay, AtLeast(0), "pull of the weights towards 0, added to the gradient"),
          Field("nesterov", &T::nesterov, "look ahead by the momentum"),
      },
      CheckSgd);
  return table;
}

const ConfigTable& ConfigTableOf(const AdamConfig*) {
  static const ConfigTable table =
      Table<AdamConfig>("Adam; weight decay is added to the gradient.", AdamFields<AdamConfig>());
  return table;
}

const ConfigTable& ConfigTableOf(const AdamWConfig*) {
  static const ConfigTable table =
      Table<AdamWConfig>("Adam with weight decay apart from the gradient.", AdamFields<AdamWConfig>());
  return table;
}

}  // namespace tenon

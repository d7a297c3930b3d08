#include "core/train/optimizer_config.h"

#include "core/config/fields.h"

namespace tenon {

double LearningRate(const OptimizerConfig& optimizer) {
  return std::visit([](const auto& options) { return options.lr; }, optimizer);
}

namespace {

constexpr const char* kLrSentence = "learning rate, before the schedule";

// Rules that all optimisers share.
template <class T>
void CheckGroups(const ConfigNode& node, T& optimizer, ConfigReader& reader) {
  const ConfigEntry* flag = node.FindEntry("decay_bias_and_norm");
  if (!optimizer.decay_bias_and_norm && optimizer.weight_decay == 0.0 && flag != nullptr) {
    reader.Fail(flag->value.place(), "'{}: false' changes nothing: '{}' is 0.", reader.PathTo("decay_bias_and_norm"),
                reader.PathTo("weight_decay"));
  }
}

void CheckSgd(const ConfigNode& node, SgdConfig& sgd, ConfigReader& reader) {
  CheckGroups(node, sgd, reader);
  if (sgd.nesterov && sgd.momentum == 0.0) {
    const ConfigNode* flag = node.Find("nesterov");
    reader.Fail(flag != nullptr ? flag->place() : node.place(), "'{}' needs a momentum above 0.",
                reader.PathTo("nesterov"));
  }
}

void CheckGroup(const ConfigNode& node, ParameterGroupConfig& group, ConfigReader& reader) {
  if (node.Find("lr_scale") != nullptr || group.weight_decay) return;
  reader.Complain(node, fmt::format("changes nothing for '{}'. Give it 'lr_scale' or 'weight_decay'.", group.match));
}

// The keys that end every optimiser's table.
template <class T>
std::vector<ConfigField> WithGroups(std::vector<ConfigField> own) {
  own.push_back(
      Field("decay_bias_and_norm", &T::decay_bias_and_norm,
            "false: no weight decay on parameters of one axis (biases, scales and shifts of normalisations)"));
  own.push_back(Field("groups", &T::groups,
                      "parameters with an own rate or decay; the first group that matches a parameter decides"));
  return own;
}

template <class T>
std::vector<ConfigField> AdamFields() {
  return WithGroups<T>({
      Field("lr", &T::lr, AtLeast(0), kLrSentence),
      Field("betas", &T::betas, AtLeast(0) & Below(1), "decay of the first and the second moment"),
      Field("eps", &T::eps, Above(0), "added to the root of the second moment"),
      Field("weight_decay", &T::weight_decay, AtLeast(0), "pull of the weights towards 0"),
  });
}

}  // namespace

const ConfigTable& ConfigTableOf(const ParameterGroupConfig*) {
  using T = ParameterGroupConfig;
  static const ConfigTable table = Table<T>(
      "Parameters that are updated in another way than the rest.",
      {
          Field("match", &T::match, Required(), "pattern of parameter names with * and ?, such as head.*"),
          Field("lr_scale", &T::lr_scale, AtLeast(0), "the learning rate is multiplied by it"),
          Field("weight_decay", &T::weight_decay, AtLeast(0), "in place of the optimiser's own; absent: the same"),
      },
      CheckGroup);
  return table;
}

const ConfigTable& ConfigTableOf(const SgdConfig*) {
  using T = SgdConfig;
  static const ConfigTable table = Table<T>(
      "Stochastic gradient descent.",
      WithGroups<T>({
          Field("lr", &T::lr, AtLeast(0), kLrSentence),
          Field("momentum", &T::momentum, AtLeast(0) & Below(1), "share of the last update that is kept"),
          Field("weight_decay", &T::weight_decay, AtLeast(0), "pull of the weights towards 0, added to the gradient"),
          Field("nesterov", &T::nesterov, "look ahead by the momentum"),
      }),
      CheckSgd);
  return table;
}

const ConfigTable& ConfigTableOf(const AdamConfig*) {
  static const ConfigTable table = Table<AdamConfig>("Adam; weight decay is added to the gradient.",
                                                     AdamFields<AdamConfig>(), CheckGroups<AdamConfig>);
  return table;
}

const ConfigTable& ConfigTableOf(const AdamWConfig*) {
  static const ConfigTable table = Table<AdamWConfig>("Adam with weight decay apart from the gradient.",
                                                      AdamFields<AdamWConfig>(), CheckGroups<AdamWConfig>);
  return table;
}

const ConfigTable& ConfigTableOf(const LambConfig*) {
  static const ConfigTable table = Table<LambConfig>("Adam with a step as long as lr times each parameter's norm.",
                                                     AdamFields<LambConfig>(), CheckGroups<LambConfig>);
  return table;
}

}  // namespace tenon

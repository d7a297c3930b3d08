#include "core/train/train_config.h"

#include "core/config/fields.h"

namespace tenon {
namespace {

void CheckEval(const ConfigNode& node, EvalConfig& eval, ConfigReader& reader) {
  for (std::size_t i = 0; i < eval.metrics.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (eval.metrics[i] != eval.metrics[k]) continue;
      reader.Fail(node.Find("metrics")->items()[i].place(), "'{}' names '{}' twice.", reader.PathTo("metrics"),
                  eval.metrics[i]);
    }
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const TrainConfig*) {
  using T = TrainConfig;
  static const ConfigTable table = Table<T>(
      "How long to train.", {
                                Field("epochs", &T::epochs, AtLeast(1), "passes over the training data"),
                                Field("steps", &T::steps, AtLeast(1), "stop after so many steps, even within an epoch"),
                            });
  return table;
}

const ConfigTable& ConfigTableOf(const EvalConfig*) {
  using T = EvalConfig;
  static const ConfigTable table =
      Table<T>("When and how to test.",
               {
                   Field("every", &T::every, AtLeast(0), "epochs between two tests; 0: only after the last one"),
                   Field("metrics", &T::metrics, OneOf({"loss", "accuracy"}), "what to measure"),
               },
               CheckEval);
  return table;
}

}  // namespace tenon

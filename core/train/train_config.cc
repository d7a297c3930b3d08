#include "core/train/train_config.h"

#include "core/config/fields.h"
#include "core/train/init_from_codec.h"
#include "core/train/metric_name.h"

namespace tenon {
namespace {

void CheckTrain(const ConfigNode& node, TrainConfig& train, ConfigReader& reader) {
  if (train.clip_norm && train.clip_value) {
    reader.Fail(node.FindEntry("clip_value")->key_place, "'{}' and '{}' both limit the gradients. Keep one of the two.",
                reader.PathTo("clip_value"), reader.PathTo("clip_norm"));
  }
}

void CheckEval(const ConfigNode& node, EvalConfig& eval, ConfigReader& reader) {
  for (std::size_t i = 0; i < eval.metrics.size(); ++i) {
    const ConfigNode* list = node.Find("metrics");
    if (list == nullptr) return;  // the default
    const ConfigNode& item = list->items()[i];
    if (!IsMetricName(eval.metrics[i])) {
      const ConfigReader::Scope in_list(reader, "metrics");
      const ConfigReader::Scope at(reader, std::to_string(i));
      reader.Complain(item, fmt::format("must be {}, but is {}.", MetricNames(), item.Describe()));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (eval.metrics[i] != eval.metrics[k]) continue;
      reader.Fail(item.place(), "'{}' names '{}' twice.", reader.PathTo("metrics"), eval.metrics[i]);
    }
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const EarlyStopConfig*) {
  using T = EarlyStopConfig;
  static const ConfigTable table =
      Table<T>("The run ends when a metric does not get better.",
               {
                   Field("metric", &T::metric, "which of eval.metrics, of the validation part if there is one"),
                   Field("patience", &T::patience, AtLeast(1), "evaluations in a row without a better value"),
                   Field("min_delta", &T::min_delta, AtLeast(0), "a value that is better by less does not count"),
                   Field("mode", &T::mode, OneOf({"auto", "min", "max"}),
                         "which values are better; auto: low ones of losses and errors, high ones of the rest"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const TrainConfig*) {
  using T = TrainConfig;
  static const ConfigTable table = Table<T>(
      "How long and in what way to train.",
      {
          Field("epochs", &T::epochs, AtLeast(1), "passes over the training data"),
          Field("steps", &T::steps, AtLeast(1), "stop after so many steps, even within an epoch"),
          Field("accumulate", &T::accumulate, Between(1, 1 << 20),
                "batches a step: their gradients are added up, weighted by what they count, before the update"),
          Field("clip_norm", &T::clip_norm, Above(0), "largest joint L2 norm of all gradients; larger ones are scaled"),
          Field("clip_value", &T::clip_value, Above(0), "largest absolute value in a gradient"),
          Field("freeze", &T::freeze, "patterns of parameters that stay as they are, such as conv1.*"),
          Field("ema", &T::ema, Above(0) & Below(1),
                "decay of averaged weights, which evaluations then use; absent: no averages"),
          Field("early_stop", &T::early_stop, "when to end before the last epoch; absent: never"),
          Field("recompute", &T::recompute,
                "patterns of layers whose results are computed again for the backward pass in place of kept"),
      },
      CheckTrain);
  return table;
}

const ConfigTable& ConfigTableOf(const EvalConfig*) {
  using T = EvalConfig;
  static const ConfigTable table =
      Table<T>("When and how to test.",
               {
                   Field("every", &T::every, AtLeast(0), "epochs between two tests; 0: only after the last one"),
                   Field("metrics", &T::metrics, "what to measure: " + MetricNames()),
               },
               CheckEval);
  return table;
}

const ConfigTable& ConfigTableOf(const InitFromConfig*) {
  using T = InitFromConfig;
  static const ConfigTable table = Table<T>(
      "Where the first weights come from.",
      {
          Field("path", &T::path, Required(), "a .ckpt, .safetensors or .npz file"),
          Field("rename", &T::rename,
                "names in the file to names of the network; a name that ends in '.' stands for all that begin so"),
          Field("strict", &T::strict, "false: what fits is taken, the rest is counted in the summary"),
      });
  return table;
}

ConfigType ConfigCodec<InitFromConfig>::Type() {
  return {.kind = ConfigType::Kind::kCustom,
          .table = &ConfigTableOf(static_cast<const InitFromConfig*>(nullptr)),
          .spelling = "path, or a map"};
}

void ConfigCodec<InitFromConfig>::Read(const ConfigNode& node, const Bounds& bounds, InitFromConfig& out,
                                       ConfigReader& reader) {
  if (node.is_map()) return ReadFields(ConfigTableOf(&out), node, &out, reader);
  ReadPath(node, bounds, out.path, reader);
}

ConfigNode ConfigCodec<InitFromConfig>::Write(const InitFromConfig& value) {
  return ConfigNode::Map(WriteFields(ConfigTableOf(&value), &value));
}

}  // namespace tenon

#include "core/train/run_config.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/config/fields.h"
#include "core/config/schema.h"
#include "core/config/yaml_writer.h"
#include "core/train/init_from_codec.h"
#include "core/train/layer_reference.h"
#include "core/train/metric_name.h"

namespace tenon {

std::vector<std::string> ConfigNamesOf(RunMode) { return {"graph", "pynative"}; }
std::vector<std::string> ConfigNamesOf(MathMode) { return {"exact", "high"}; }
std::vector<std::string> ConfigNamesOf(FallbackPolicy) { return {"forbid", "warn", "allow"}; }

// --- Tables ---------------------------------------------------------------------------------------------------------

// `{zoo: name, args: {...}}` or `{layers: [...]}`. The options of a zoo network depend on its name, so the section is
// read by hand.
template <>
struct ConfigCodec<NetworkConfig> {
  using Zoo = ZooConfig;

  static const ConfigTable& Shape() {
    static const ConfigTable table = MakeShape();
    return table;
  }
  static ConfigType Type() { return {.kind = ConfigType::Kind::kStruct, .table = &Shape()}; }

  static void Read(const ConfigNode& node, const Bounds&, NetworkConfig& out, ConfigReader& reader) {
    out.place = node.place();
    ReadFields(Shape(), node, &out, reader);
  }

  static ConfigNode Write(const NetworkConfig& value) {
    if (!value.zoo && value.layers.is_null()) return ConfigNode();
    return ConfigNode::Map(WriteFields(Shape(), &value));
  }

 private:
  static std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const Zoo& zoo : Kinds()) names.push_back(KindOf(zoo));
    return names;
  }
  // Every network of the zoo with its default options.
  static const std::vector<Zoo>& Kinds() {
    static const auto kinds = []<class... Ts>(const std::variant<Ts...>*) { return std::vector<Zoo>{Ts{}...}; };
    static const std::vector<Zoo> all = kinds(static_cast<const Zoo*>(nullptr));
    return all;
  }

  static ConfigTable MakeShape() {
    ConfigField zoo;
    zoo.name = "zoo";
    zoo.type = {.kind = ConfigType::Kind::kName, .optional = true, .names = Names()};
    zoo.sentence = "a network that Tenon knows; it takes its input shape from the data";
    zoo.read = [](const ConfigNode& node, void* object, ConfigReader& reader) {
      auto& network = *static_cast<NetworkConfig*>(object);
      const auto index = ReadName(node, Names(), reader);
      if (!index) return;
      network.zoo = Kinds()[*index];
    };
    zoo.write = [](const void* object) {
      const auto& network = *static_cast<const NetworkConfig*>(object);
      return network.zoo ? TextNode(KindOf(*network.zoo)) : ConfigNode();
    };

    ConfigField args;
    args.name = "args";
    args.type = ConfigCodec<Zoo>::Type();
    args.type.chosen_by = "zoo";
    args.sentence = "settings of the zoo network";
    args.read = [](const ConfigNode&, void*, ConfigReader&) {};  // by ReadArgs, when the name is known
    args.write = [](const void* object) {
      const auto& network = *static_cast<const NetworkConfig*>(object);
      if (!network.zoo) return ConfigNode();
      return std::visit(
          [](const auto& zoo_args) { return ConfigNode::Map(WriteFields(ConfigTableOf(&zoo_args), &zoo_args)); },
          *network.zoo);
    };

    ConfigField layers = Field("layers", &NetworkConfig::layers, "the layers, in order (layers.md has them all)");
    layers.type = {.kind = ConfigType::Kind::kList, .optional = true, .element = {LayerEntryType()}};
    ConfigTable table = Table<NetworkConfig>(
        "Either a network of the zoo, or `layers`: a list of one-key maps such as {conv: {out: 6, kernel: 5}}.",
        {std::move(zoo), std::move(args), std::move(layers)}, ReadArgs);
    return table;
  }

  static void ReadArgs(const ConfigNode& node, NetworkConfig& network, ConfigReader& reader) {
    const ConfigEntry* args = node.FindEntry("args");
    const ConfigEntry* layers = node.FindEntry("layers");
    if (network.zoo && layers != nullptr) {
      return reader.Fail(layers->key_place, "'{}' and '{}' both say what the network is. Keep one of the two.",
                         reader.PathTo("layers"), reader.PathTo("zoo"));
    }
    if (!network.zoo && args != nullptr) {
      return reader.Fail(args->key_place, "'{}' needs '{}' beside it, to know which network they are for.",
                         reader.PathTo("args"), reader.PathTo("zoo"));
    }
    if (!network.zoo && network.layers.is_null()) {
      if (reader.required_keys) reader.Complain(node, "needs 'zoo' or 'layers'.");
      return;
    }
    if (!network.zoo && (!network.layers.is_list() || network.layers.items().empty())) {
      const ConfigReader::Scope scope(reader, "layers");
      return reader.Complain(network.layers,
                             fmt::format("needs a list of layers, but is {}.",
                                         network.layers.is_list() ? "empty" : network.layers.Describe()));
    }
    if (args == nullptr) return;
    static const ConfigType variants = ConfigCodec<Zoo>::Type();
    const ConfigReader::Scope scope(reader, "args");
    std::visit(
        [&](auto& options) {
          using T = std::decay_t<decltype(options)>;
          ReadFields(ConfigTableOf(&options), args->value, &options, reader, {}, &variants, T::kType);
        },
        *network.zoo);
  }
};

namespace {

// `every: 2` counts epochs, `every: {steps: 500}` steps.
void ReadInterval(const ConfigNode& node, void* object, ConfigReader& reader) {
  auto& checkpoint = *static_cast<CheckpointConfig*>(object);
  if (!node.is_map()) return ConfigCodec<std::int64_t>::Read(node, AtLeast(0), checkpoint.every, reader);
  for (const ConfigEntry& entry : node.entries()) {
    if (entry.key == "steps") continue;
    return reader.Fail(entry.key_place, "Unknown key '{}'. Known keys: steps.", reader.PathTo(entry.key));
  }
  const ConfigNode* steps = node.Find("steps");
  if (steps == nullptr) return reader.Complain(node, "needs a number of epochs, or {steps: N}.");
  const ConfigReader::Scope scope(reader, "steps");
  checkpoint.steps = 0;
  ConfigCodec<std::int64_t>::Read(*steps, AtLeast(1), *checkpoint.steps, reader);
}

ConfigField IntervalField() {
  ConfigField field;
  field.name = "every";
  field.type = {.kind = ConfigType::Kind::kCustom, .spelling = "integer, or {steps: N}"};
  field.sentence = "epochs between two checkpoints, or steps; 0: none";
  field.default_value = ConfigNode::Scalar("1");
  field.read = ReadInterval;
  field.write = [](const void* object) {
    const auto& checkpoint = *static_cast<const CheckpointConfig*>(object);
    if (!checkpoint.steps) return ConfigNode::Scalar(std::to_string(checkpoint.every));
    return ConfigNode::Map({{"steps", {}, ConfigNode::Scalar(std::to_string(*checkpoint.steps))}});
  };
  return field;
}

// `steps: 500` beside `keep` means `every: {steps: 500}`, and is printed so.
ConfigField StepsField() {
  ConfigField field = Field("steps", &CheckpointConfig::steps, AtLeast(1), "short for every: {steps: N}");
  field.write = [](const void*) { return ConfigNode(); };
  return field;
}

void CheckCheckpoint(const ConfigNode& node, CheckpointConfig& checkpoint, ConfigReader& reader) {
  const ConfigEntry* every = node.FindEntry("every");
  if (checkpoint.steps && every != nullptr && node.Find("steps") != nullptr) {
    reader.Fail(every->key_place, "'{}' and '{}' both say how often to save. Keep one of the two.",
                reader.PathTo("every"), reader.PathTo("steps"));
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const CheckpointConfig*) {
  using T = CheckpointConfig;
  static const ConfigTable table =
      Table<T>("When and how to save.",
               {
                   IntervalField(),
                   StepsField(),
                   Field("keep", &T::keep, AtLeast(1), "the newest so many stay"),
                   Field("format", &T::format, OneOf({"ckpt", "safetensors"}), "form of the files"),
               },
               CheckCheckpoint);
  return table;
}

const ConfigTable& ConfigTableOf(const LogConfig*) {
  using T = LogConfig;
  static const ConfigTable table =
      Table<T>("What is told while it runs.",
               {
                   Field("every", &T::every, AtLeast(1), "steps between two lines"),
                   Field("level", &T::level, OneOf({"debug", "info", "warning", "error", "critical"}),
                         "lowest level that is shown"),
               });
  return table;
}

const ConfigTable& ConfigTableOf(const PassesConfig*) {
  using T = PassesConfig;
  static const ConfigTable table =
      Table<T>("Changes to the compilation.", {
                                                  Field("disabled", &T::disabled, "names of passes to leave out"),
                                              });
  return table;
}

namespace {

bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// "cpu", "npu:1"
bool IsDeviceName(const std::string& device) {
  const std::size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  if (kind.empty() || kind.find_first_of(" /") != std::string::npos) return false;
  if (colon == std::string::npos) return true;
  const std::string index = device.substr(colon + 1);
  return !index.empty() && index.size() <= 4 && index.find_first_not_of("0123456789") == std::string::npos;
}

// An early stop watches a number that the evaluations of the run give.
void CheckEarlyStop(const ConfigNode& node, const RunConfig& run, ConfigReader& reader) {
  if (!run.train.early_stop) return;
  const Place place = PlaceOf(node, "train.early_stop.metric");
  const std::string& metric = run.train.early_stop->metric;
  const auto& metrics = run.eval.metrics;
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
    reader.Fail(place, "'train.early_stop.metric' is '{}', which 'eval.metrics' does not have; it has {}.", metric,
                JoinAnd(metrics));
  } else if (metric == "confusion_matrix") {
    reader.Fail(place, "'train.early_stop.metric' needs a number; '{}' is a table.", metric);
  }
  if (run.eval.every == 0) reader.Fail(PlaceOf(node, "eval.every"), "'train.early_stop' needs 'eval.every' above 0.");
}

void CheckRun(const ConfigNode& node, RunConfig& run, ConfigReader& reader) {
  CheckEarlyStop(node, run, reader);
  CheckParallel(node, run, reader);
  if (const ConfigNode* name = node.Find("name"); name != nullptr && !IsFileName(run.name)) {
    reader.Fail(name->place(), "'name' becomes part of file names and must not be empty or hold a '/', but is {}.",
                name->Describe());
  }
  if (const ConfigNode* device = node.Find("device"); device != nullptr && !IsDeviceName(run.device)) {
    reader.Fail(device->place(), "'device' needs a kind such as cpu, or kind:index such as npu:1, but is {}.",
                device->Describe());
  }
}

}  // namespace

const ConfigTable& ConfigTableOf(const RunConfig*) {
  using T = RunConfig;
  static const ConfigTable table = Table<T>(
      "A run of `tenon train`.",
      {
          Field("name", &T::name, "part of file names; when empty the name of the config file"),
          Field("seed", &T::seed, AtLeast(0), "start of all random numbers"),
          Field("device", &T::device,
                "kind, or kind:index; some plugin must offer it. Of several of a kind, each process of a node takes "
                "its own"),
          Field("mode", &T::mode, "graph compiles the whole step, pynative runs each operator when it is reached"),
          Field("threads", &T::threads, Between(0, 4096), "compute threads of the device; 0: all cores"),
          Field("math", &T::math,
                "products and convolutions of float32: exact, or high: faster ones with a relative error of at most "
                "1e-5"),
          Field(
              "fallback", &T::fallback,
              "a node for which the device has no kernel: an error, or it runs on the host, with or without a warning"),
          Field("plugins", &T::plugins, "where plugins come from"),
          Field("data", &T::data, Required(), "what the run learns from"),
          Field("network", &T::network, Required(), "what is trained"),
          Field("init_from", &T::init_from, "a file with first weights; absent: random ones"),
          Field("loss", &T::loss, "what is minimised"),
          Field("optimizer", &T::optimizer, "how weights are updated"),
          Field("schedule", &T::schedule, "how the learning rate changes"),
          Field("amp", &T::amp, "mixed precision"),
          Field("train", &T::train, "how long and in what way to train"),
          Field("parallel", &T::parallel, "how several processes work together"),
          Field("eval", &T::eval, "when and how to test"),
          Field("checkpoint", &T::checkpoint, "when and how to save"),
          Field("log", &T::log, "what is told while it runs"),
          Field("passes", &T::passes, "changes to the compilation"),
          Field("profile", &T::profile, "what `tenon train --profile FILE` records"),
          Field("save_graphs", &T::save_graphs, Between(0, 3),
                "0: off, 1: first and last graph, 2: after each pass, 3: with shapes and layouts, and as .dot"),
          Field("output", &T::output, FromCurrentFolder(), "folder of the results; absent: runs/<name>"),
      },
      CheckRun);
  return table;
}

// --- Reading and writing --------------------------------------------------------------------------------------------

namespace {

// Names that people bring from other tools.
const ForeignKeys& KnownElsewhere() {
  static const ForeignKeys keys{
      {"learning_rate", "optimizer.lr"},
      {"base_lr", "optimizer.lr"},
      {"lr_init", "optimizer.lr"},
      {"batch_size", "data.batch"},
      {"per_batch_size", "data.batch"},
      {"micro_batch_size", "data.batch"},
      {"num_epochs", "train.epochs"},
      {"max_epochs", "train.epochs"},
      {"epoch_size", "train.epochs"},
      {"max_steps", "train.steps"},
      {"max_iters", "train.steps"},
      {"dataset", "data"},
      {"train_dataset", "data"},
      {"num_workers", "data.workers"},
      {"num_parallel_workers", "data.workers"},
      {"drop_remainder", "data.drop_last"},
      {"model", "network"},
      {"criterion", "loss"},
      {"optim", "optimizer"},
      {"lr_scheduler", "schedule"},
      {"lr_schedule", "schedule"},
      {"scheduler", "schedule"},
      {"warmup_iters", "schedule.warmup_steps"},
      {"output_dir", "output"},
      {"work_dir", "output"},
      {"device_target", "device"},
      {"run_mode", "mode"},
      {"save_graphs_path", "output"},
      {"log_level", "log.level"},
      {"logging_steps", "log.every"},
      {"eval_steps", "eval.every"},
      {"save_steps", "checkpoint.steps"},
      {"keep_checkpoint_max", "checkpoint.keep"},
      {"experiment_name", "name"},
      {"num_threads", "threads"},
      {"metric", "eval.metrics"},
      {"gradient_accumulation_steps", "train.accumulate"},
      {"max_grad_norm", "train.clip_norm"},
      {"clip_grad", "train.clip_norm"},
      {"early_stopping_patience", "train.early_stop.patience"},
      {"ema_decay", "train.ema"},
      {"ckpt_path", "init_from"},
      {"load_from", "init_from"},
      {"milestones", "schedule.milestones"},
      {"gradient_checkpointing", "train.recompute"},
  };
  return keys;
}

std::string StemOf(const ConfigNode& root) {
  if (!root.place().known() || !root.place().origin->is_file) return "run";
  const std::string stem = std::filesystem::path(root.place().origin->name).stem().string();
  return IsFileName(stem) ? stem : "run";
}

}  // namespace

Result<RunConfig> ReadRunConfig(const ConfigNode& root, RunConfigPart part) {
  ConfigProblems problems;
  ConfigReader reader(ConfigTableOf(static_cast<const RunConfig*>(nullptr)), problems);
  reader.foreign_keys = &KnownElsewhere();
  reader.required_keys = part == RunConfigPart::kAll;
  RunConfig run = ReadConfig<RunConfig>(root, reader);
  if (!problems.empty()) return problems.ToStatus();
  if (run.name.empty()) run.name = StemOf(root);
  if (run.output.empty()) {
    run.output.text = "runs/" + run.name;
    run.output.resolved = run.output.text;
  }
  if (root.place().known()) run.plugins.file = root.place().origin->name;
  run.source = root;
  return run;
}

Result<RunConfig> LoadRunConfig(const ConfigSource& source, RunConfigPart part) {
  TENON_ASSIGN(const ConfigNode root, LoadConfig(source));
  return ReadRunConfig(root, part);
}

ConfigNode RunConfigTree(const RunConfig& config) {
  const ConfigNode whole = WriteConfig(config);
  std::vector<ConfigEntry> entries;
  for (const ConfigEntry& entry : whole.entries()) {
    if (entry.key != "data" || !config.data.type.empty()) entries.push_back(entry);
  }
  return ConfigNode::Map(std::move(entries));
}

std::string PrintRunConfig(const RunConfig& config) { return WriteYaml(RunConfigTree(config)); }

std::string PrintRunConfigJson(const RunConfig& config) { return ToJson(RunConfigTree(config)).dump(2) + "\n"; }

std::string RunConfigSchemaJson() {
  return SchemaJson(ConfigTableOf(static_cast<const RunConfig*>(nullptr)), "Tenon run");
}

std::string RunConfigSchemaMarkdown() {
  return SchemaMarkdown(ConfigTableOf(static_cast<const RunConfig*>(nullptr)), "Run files");
}

}  // namespace tenon

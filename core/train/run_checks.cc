#include "core/train/run_checks.h"

#include <algorithm>
#include <set>

#include "core/platform/process.h"
#include "core/train/loss.h"
#include "core/train/metric_set.h"
#include "core/train/name_pattern.h"

namespace tenon {
namespace {

// The network and its loss on a batch of so many samples.
struct Trial {
  graph::Graph graph;
  graph::ValueId labels = graph::kNone;
  Network::Build build;
};

Result<Trial> BuildFor(std::int64_t batch, const RunConfig& config, const Network& network, const SampleLayout& layout,
                       bool training) {
  Trial trial;
  trial.graph = network.NewGraph();
  const graph::ValueId input = trial.graph.AddInput("input", {layout.dtype, SymShape(layout.samples_shape(batch))});
  trial.labels = trial.graph.AddInput("labels", {layout.label_dtype, SymShape(layout.labels_shape(batch))});
  TENON_ASSIGN_WHILE(trial.build, network.AddTo(trial.graph, input, training), "building the network for samples {}{}",
                     NameOf(layout.dtype), layout.shape);
  auto loss = AddLoss(config.loss, trial.graph, trial.build.output, trial.labels);
  if (!loss.ok()) return std::move(loss).status().At(network.place_of_output());
  return trial;
}

// Parameters that this machine cannot hold are refused before it starts to swap.
Status CheckRoom(const Network::Build& build) {
  double needed = 0;
  for (const auto& entry : build.initial) needed += 4.0 * static_cast<double>(entry.second.shape.elements());
  const double there = static_cast<double>(MachineMemory());
  TENON_INVALID_IF(needed > there, "The network's parameters need {:.1f} GB; this machine has {:.1f} GB of memory.",
                   needed * 1e-9, there * 1e-9);
  return {};
}

// A last batch with fewer samples may be one that nothing can be learnt from.
Status CheckLastBatch(const RunConfig& config, const Network& network, const DataSource& data, const Loader& train) {
  const std::int64_t last = train.samples_per_epoch() % train.batch();
  if (last == 0) return {};
  TENON_TRY_WHILE(
      BuildFor(last, config, network, data.layout(), true),
      "looking at the last batch of an epoch, which has {} of {} samples (data.drop_last: true leaves it out)", last,
      train.batch());
  return {};
}

// Batches of every length are trained with the same parameters.
Status CheckLengths(const RunConfig& config, const Network& network, const DataSource& data,
                    const Network::Build& build) {
  const SampleLayout layout = data.layout();
  const std::int64_t length = data.varies() ? layout.shape.dim(0) : 0, shortest = data.varies() ? data.shortest() : 0;
  if (shortest == length) return {};
  graph::Graph graph = network.NewGraph();
  const graph::ValueId input = graph.AddInput("input", {layout.dtype, SymShape{config.data.batch, shortest}});
  TENON_ASSIGN_WHILE(const Network::Build other, network.AddTo(graph, input, true),
                     "building the network for a batch of {} tokens a sample; data.buckets: [{}] makes all as long",
                     shortest, length);
  for (const auto& entry : build.initial) {
    const auto found = other.initial.find(entry.first);
    if (found == other.initial.end() || found->second.shape == entry.second.shape) continue;
    return InvalidArgument(
               "'{}' is {} for samples of {} tokens but {} for samples of {}. data.buckets: [{}] makes all batches as "
               "long.",
               entry.first, entry.second.shape, length, found->second.shape, shortest, length)
        .At(config.network.place.ToString());
  }
  return {};
}

// What stands as a label behind the end of a short line is a class, or is left out of the loss.
Status CheckPadding(const RunConfig& config, const DataSource& data, std::int64_t classes) {
  const std::int64_t label = config.data.pad.value_or(PadConfig{}).label;
  if (!data.pads() || (label >= 0 && label < classes) || IgnoredLabel(config.loss) == label) return {};
  return InvalidArgument(
             "The labels behind the end of short lines are {} ('data.pad.label'); the classes of the network are 0 to "
             "{}. Write loss.ignore_index: {} to leave them out.",
             label, classes - 1, label)
      .At(PlaceOf(config.source, "loss").ToString());
}

// A network that takes no batch of an evaluation is refused before it is trained.
Status CheckEvaluation(const RunConfig& config, const Network& network, const DataSource& data, const Loader& loader) {
  const std::int64_t samples = loader.samples_per_epoch();
  for (const std::int64_t size : {std::min(loader.batch(), samples), samples % loader.batch()}) {
    if (size > 0)
      TENON_TRY_WHILE(BuildFor(size, config, network, data.layout(), false),
                      "looking at a batch of {} of the {} samples of an evaluation", size, samples);
  }
  return {};
}

// Names of nodes and what they begin with: "block1" of "block1.mlp.linear".
std::vector<std::string> LayersOf(const graph::Graph& graph) {
  std::vector<std::string> layers;
  std::set<std::string> known;
  for (const graph::NodeId id : graph.LiveNodes()) {
    const std::string& name = graph.node(id).name;
    for (std::size_t end = name.find('.');; end = name.find('.', end + 1)) {
      std::string part = name.substr(0, end);
      if (known.insert(part).second) layers.push_back(std::move(part));
      if (end == std::string::npos) break;
    }
  }
  return layers;
}

Status CheckPatterns(const RunConfig& config, const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names, std::string_view what) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    auto picked = PickNames(patterns[i], names, what);
    if (!picked.ok())
      return std::move(picked).status().At(PlaceOf(config.source, fmt::format("{}.{}", key, i)).ToString());
  }
  return {};
}

// Patterns of layers, and for the precision of operator types too.
Status CheckLayerPatterns(const RunConfig& config, const graph::Graph& graph) {
  std::vector<std::string> names = LayersOf(graph);
  TENON_TRY(CheckPatterns(config, "train.recompute", config.train.recompute, names, "layer"));
  std::set<std::string> types;
  for (const graph::NodeId id : graph.LiveNodes()) types.insert(graph.node(id).type);
  names.insert(names.end(), types.begin(), types.end());
  return CheckPatterns(config, "amp.keep", config.amp.keep, names, "layer and no operator type");
}

}  // namespace

Result<RunFacts> CheckRun(const RunConfig& config, const Network& network, const DataSource& data, const Loader& train,
                          const std::vector<const Loader*>& evaluations) {
  const std::int64_t batch = std::min(train.batch(), train.samples_per_epoch());
  TENON_ASSIGN(const Trial trial, BuildFor(batch, config, network, data.layout(), true));
  Status room = CheckRoom(trial.build);
  if (!room.ok()) return std::move(room).At(config.network.place.ToString());
  if (trial.build.parameters.empty())
    return InvalidArgument("The network has nothing to train: no layer of it has a parameter.")
        .At(config.network.place.ToString());
  const ValueType &output = trial.graph.value(trial.build.output).type, &labels = trial.graph.value(trial.labels).type;
  if (!ComparesValues(config.loss) && data.layout().label_kind == LabelKind::kClass) {
    const std::int64_t classes = output.shape[ClassAxis(output.shape, labels.shape)].value();
    TENON_TRY_WHILE(data.CheckClasses(classes), "comparing the labels with the network's output {} ({})",
                    output.ToString(), network.place_of_output());
    TENON_TRY(CheckPadding(config, data, classes));
  }
  TENON_TRY(CheckLengths(config, network, data, trial.build));
  TENON_TRY(CheckLastBatch(config, network, data, train));
  for (const Loader* loader : evaluations) {
    if (loader != nullptr) TENON_TRY(CheckEvaluation(config, network, data, *loader));
  }
  TENON_TRY(CheckLayerPatterns(config, trial.graph));
  RunFacts facts;
  TENON_ASSIGN(facts.plan, PlanParameters(config, trial.graph, trial.build.parameters));
  TENON_ASSIGN(facts.metrics.names, MetricsOf(config, labels, output));
  if (labels.dtype == DType::kI64 && output.shape.rank() >= 2)
    facts.metrics.classes = output.shape[ClassAxis(output.shape, labels.shape)].value();
  facts.metrics.ignored = IgnoredLabel(config.loss);
  facts.variables = trial.build.initial;
  return facts;
}

}  // namespace tenon

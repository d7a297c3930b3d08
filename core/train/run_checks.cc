#include "core/train/run_checks.h"

#include <unistd.h>

#include <algorithm>

#include "core/train/loss.h"
#include "core/train/metric_set.h"
#include "core/train/name_pattern.h"

namespace tenon {
namespace {

Shape WithBatch(std::int64_t batch, const Shape& sample) {
  Shape shape{batch};
  for (const std::int64_t dim : sample.dims()) shape.push_back(dim);
  return shape;
}

// The network and its loss on a batch of so many samples.
struct Trial {
  graph::Graph graph;
  graph::ValueId labels = graph::kNone;
  Network::Build build;
};

Result<Trial> BuildFor(std::int64_t batch, const RunConfig& config, const Network& network,
                       const SampleLayout& layout) {
  Trial trial;
  const graph::ValueId input = trial.graph.AddInput("input", {layout.dtype, SymShape(WithBatch(batch, layout.shape))});
  trial.labels = trial.graph.AddInput("labels", {layout.label_dtype, SymShape(WithBatch(batch, layout.label_shape))});
  TENON_ASSIGN_WHILE(trial.build, network.AddTo(trial.graph, input, true), "building the network for samples {}{}",
                     NameOf(layout.dtype), layout.shape);
  auto loss = AddLoss(config.loss, trial.graph, trial.build.output, trial.labels);
  if (!loss.ok()) return std::move(loss).status().At(network.place_of_output());
  return trial;
}

// Parameters that this machine cannot hold are refused before it starts to swap.
Status CheckRoom(const Network::Build& build) {
  double needed = 0;
  for (const auto& entry : build.initial) needed += 4.0 * static_cast<double>(entry.second.shape.elements());
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  TENON_INVALID_IF(needed > there, "The network's parameters need {:.1f} GB; this machine has {:.1f} GB of memory.",
                   needed * 1e-9, there * 1e-9);
  return {};
}

// A last batch with fewer samples may be one that nothing can be learnt from.
Status CheckLastBatch(const RunConfig& config, const Network& network, const DataSource& data, const Loader& train) {
  const std::int64_t last = train.samples_per_epoch() % train.batch();
  if (last == 0) return {};
  TENON_TRY_WHILE(
      BuildFor(last, config, network, data.layout()),
      "looking at the last batch of an epoch, which has {} of {} samples (data.drop_last: true leaves it out)", last,
      train.batch());
  return {};
}

// Patterns of layers against the names of nodes and what they begin with: "block1" of "block1.mlp.linear".
Status CheckRecompute(const RunConfig& config, const graph::Graph& graph) {
  std::vector<std::string> layers;
  for (const graph::NodeId id : graph.LiveNodes()) {
    const std::string& name = graph.node(id).name;
    for (std::size_t end = name.find('.');; end = name.find('.', end + 1)) {
      std::string part = name.substr(0, end);
      if (std::find(layers.begin(), layers.end(), part) == layers.end()) layers.push_back(std::move(part));
      if (end == std::string::npos) break;
    }
  }
  for (std::size_t i = 0; i < config.train.recompute.size(); ++i) {
    auto picked = PickNames(config.train.recompute[i], layers, "layer");
    if (!picked.ok())
      return std::move(picked).status().At(PlaceOf(config.source, fmt::format("train.recompute.{}", i)).ToString());
  }
  return {};
}

}  // namespace

Result<RunFacts> CheckRun(const RunConfig& config, const Network& network, const DataSource& data,
                          const Loader& train) {
  const std::int64_t batch = std::min(train.batch(), train.samples_per_epoch());
  TENON_ASSIGN(const Trial trial, BuildFor(batch, config, network, data.layout()));
  Status room = CheckRoom(trial.build);
  if (!room.ok()) return std::move(room).At(config.network.place.ToString());
  if (trial.build.parameters.empty())
    return InvalidArgument("The network has nothing to train: no layer of it has a parameter.")
        .At(config.network.place.ToString());
  const ValueType &output = trial.graph.value(trial.build.output).type, &labels = trial.graph.value(trial.labels).type;
  if (!ComparesValues(config.loss) && data.layout().label_kind == LabelKind::kClass)
    TENON_TRY_WHILE(data.CheckClasses(output.shape[ClassAxis(output.shape, labels.shape)].value()),
                    "comparing the labels with the network's output {} ({})", output.ToString(),
                    network.place_of_output());
  TENON_TRY(CheckLastBatch(config, network, data, train));
  TENON_TRY(CheckRecompute(config, trial.graph));
  RunFacts facts;
  TENON_ASSIGN(facts.plan, PlanParameters(config, trial.graph, trial.build.parameters));
  TENON_ASSIGN(facts.metrics, MetricsOf(config, labels, output));
  facts.variables = trial.build.initial;
  return facts;
}

}  // namespace tenon

#include "core/train/network.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace tenon {
namespace {

const LayerKind* FindKind(const std::string& name) {
  for (const LayerKind& kind : LayerKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const LayerKind& kind : LayerKinds()) names.push_back(kind.name);
  return names;
}

// "{relu: }" and "relu" both stand for a layer without options.
ConfigNode OptionsOf(const ConfigNode& node) { return node.is_null() ? ConfigNode::Map({}, node.place()) : node; }

// Names stand in graphs, tables and files, a line each.
void CheckNames(const ConfigNode& options, const LayerKeys& keys, ConfigReader& reader) {
  const auto broken = [](const std::string& name) {
    return std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  };
  if (broken(keys.name))
    reader.Fail(options.Find("name")->place(), "'{}' holds a line break or another control character.",
                reader.PathTo("name"));
  for (std::size_t i = 0; i < keys.outputs.size(); ++i) {
    if (broken(keys.outputs[i]))
      reader.Fail(options.Find("outputs")->items()[i].place(),
                  "'{}.{}' holds a line break or another control character.", reader.PathTo("outputs"), i);
  }
}

}  // namespace

Result<Network> Network::Make(const NetworkConfig& config, const OpRegistry& ops) {
  std::vector<ConfigNode> nodes = config.layers.items();
  if (config.zoo) nodes = std::visit([&](const auto& zoo) { return LayersOf(zoo, config.place); }, *config.zoo);
  Network network;
  network.ops_ = &ops;
  ConfigProblems problems;
  static const ConfigTable root = Table<LayerKeys>("Layers of a network.", {});
  ConfigReader reader(root, problems);
  const ConfigReader::Scope in_network(reader, "network");
  const ConfigReader::Scope in_layers(reader, "layers");
  if (nodes.empty()) reader.Fail(config.place, "The network has no layers.");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ConfigReader::Scope at(reader, std::to_string(i));
    ConfigNode node = nodes[i];
    if (node.is_scalar())
      node = ConfigNode::Map({{node.text(), node.place(), ConfigNode::Map({}, node.place())}}, node.place());
    if (!node.is_map() || node.entries().size() != 1) {
      reader.Complain(
          node, fmt::format("needs a layer such as {{conv: {{out: 6, kernel: 5}}}}, but is {}.",
                            node.is_map() ? fmt::format("a map of {} keys", node.entries().size()) : node.Describe()));
      continue;
    }
    const ConfigEntry& entry = node.entries()[0];
    const LayerKind* kind = FindKind(entry.key);
    if (kind == nullptr) {
      const auto names = KindNames();
      const std::string nearest = NearestName(entry.key, names);
      reader.Fail(entry.key_place, "There is no layer '{}'.{} Layers are {}.", entry.key,
                  nearest.empty() ? std::string() : fmt::format(" Did you mean '{}'?", nearest), JoinAnd(names));
      continue;
    }
    const ConfigReader::Scope in_kind(reader, entry.key);
    Layer layer{kind->name, {}, kind->inputs, entry.key_place.ToString(), {}};
    const ConfigNode options = OptionsOf(entry.value);
    layer.build = kind->read(options, layer.keys, reader);
    CheckNames(options, layer.keys, reader);
    network.layers_.push_back(std::move(layer));
  }
  TENON_TRY(problems.ToStatus());
  return network;
}

namespace {

using Values = std::map<std::string, graph::ValueId>;

Result<std::vector<graph::ValueId>> FindInputs(const LayerKeys& keys, int wanted, graph::ValueId previous,
                                               const Values& values) {
  std::vector<graph::ValueId> inputs;
  for (const std::string& name : keys.input.names) {
    const auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> known;
      for (const auto& entry : values) known.push_back(entry.first);
      const std::string nearest = NearestName(name, known);
      return InvalidArgument("There is no layer or value '{}' above.{}", name,
                             nearest.empty() ? std::string() : fmt::format(" Did you mean '{}'?", nearest));
    }
    inputs.push_back(found->second);
  }
  if (inputs.empty() && wanted != 0) inputs.push_back(previous);
  TENON_INVALID_IF(wanted >= 0 && inputs.size() != static_cast<std::size_t>(wanted),
                   "The layer reads {} value{}; {} {} given. Name them: input: [a, b].", wanted, wanted == 1 ? "" : "s",
                   inputs.size(), inputs.size() == 1 ? "is" : "are");
  return inputs;
}

}  // namespace

Result<Network::Build> Network::AddTo(graph::Graph& graph, graph::ValueId input, bool training) const {
  Build result;
  Values values = {{"input", input}};
  std::map<std::string, int> counts;
  graph::ValueId previous = input;
  for (const Layer& layer : layers_) {
    const int number = ++counts[layer.kind];
    std::string name = layer.keys.name.empty() ? fmt::format("{}{}", layer.kind, number) : layer.keys.name;
    if (values.count(name) > 0)
      return InvalidArgument("Two layers are called '{}'. Give one of them another name.", name).At(layer.place);
    auto inputs = FindInputs(layer.keys, layer.inputs, previous, values);
    if (!inputs.ok()) return std::move(inputs).status().At(layer.place).While(fmt::format("adding layer '{}'", name));
    LayerBuilder builder{graph, name, layer.place, *inputs, training, result.initial, sync_batch_norm_, longest_};
    auto outputs = layer.build(builder);
    if (!outputs.ok())
      return std::move(outputs)
          .status()
          .At(layer.place)
          .While(fmt::format("adding layer '{}' ({}) to input {}", name, layer.kind,
                             inputs->empty() ? std::string("none") : graph.value((*inputs)[0]).type.ToString()));
    if (builder.exact) result.exact_layers.push_back(name);
    previous = (*outputs)[0];
    values[name] = previous;
    for (std::size_t i = 0; i < layer.keys.outputs.size(); ++i) {
      if (i >= outputs->size())
        return InvalidArgument("Layer '{}' has {} outputs; {} names are given.", name, outputs->size(),
                               layer.keys.outputs.size())
            .At(layer.place);
      values[layer.keys.outputs[i]] = (*outputs)[i];
    }
  }
  result.output = previous;
  for (graph::ValueId id = 0; id < graph.num_values(); ++id) {
    if (graph.value(id).kind == graph::ValueKind::kParameter) result.parameters.push_back(id);
  }
  return result;
}

}  // namespace tenon

#include "core/train/layer.h"

namespace tenon {

Result<std::vector<std::int64_t>> PerAxis::Expand(int count, std::string_view key) const {
  if (values.size() == 1) return std::vector<std::int64_t>(static_cast<std::size_t>(count), values[0]);
  TENON_INVALID_IF(values.size() != static_cast<std::size_t>(count),
                   "'{}' has {} numbers; the input has {} spatial axes.", key, values.size(), count);
  return values;
}

ConfigType ConfigCodec<PerAxis>::Type() {
  return {.kind = ConfigType::Kind::kCustom, .spelling = "integer or list of integers, one per spatial axis"};
}
void ConfigCodec<PerAxis>::Read(const ConfigNode& node, const Bounds& bounds, PerAxis& out, ConfigReader& reader) {
  if (node.is_list())
    return ConfigCodec<std::vector<std::int64_t>>::Read(node, bounds & Count(1, 3), out.values, reader);
  std::int64_t value = 0;
  const std::size_t before = reader.problems().count();
  ConfigCodec<std::int64_t>::Read(node, bounds, value, reader);
  if (reader.problems().count() == before) out.values.assign(1, value);
}
ConfigNode ConfigCodec<PerAxis>::Write(const PerAxis& value) {
  if (value.values.empty()) return ConfigNode();
  if (value.values.size() == 1) return ConfigCodec<std::int64_t>::Write(value.values[0]);
  return ConfigCodec<std::vector<std::int64_t>>::Write(value.values);
}

ConfigType ConfigCodec<InitChoice>::Type() {
  return {.kind = ConfigType::Kind::kCustom, .spelling = "{normal: deviation}, {uniform: bound} or {constant: value}"};
}
void ConfigCodec<InitChoice>::Read(const ConfigNode& node, const Bounds&, InitChoice& out, ConfigReader& reader) {
  if (!node.is_map() || node.entries().size() != 1)
    return reader.Complain(
        node, fmt::format("needs one of {{normal: deviation}}, {{uniform: bound}}, {{constant: value}}, but is {}.",
                          node.Describe()));
  const ConfigEntry& entry = node.entries()[0];
  const ConfigReader::Scope scope(reader, entry.key);
  const auto index = ReadName(ConfigNode::Scalar(entry.key, ScalarStyle::kPlain, entry.key_place),
                              {"normal", "uniform", "constant"}, reader);
  if (!index) return;
  double value = 0;
  ConfigCodec<double>::Read(entry.value, *index == 2 ? Bounds{} : AtLeast(0), value, reader);
  if (*index == 0) out.choice = Initializer::Normal(value);
  if (*index == 1) out.choice = Initializer::Uniform(value);
  if (*index == 2) out.choice = Initializer::Constant(value);
}
ConfigNode ConfigCodec<InitChoice>::Write(const InitChoice& value) {
  if (!value.choice) return ConfigNode();
  static constexpr const char* kNames[] = {"uniform", "normal", "constant"};
  return ConfigNode::Map(
      {{kNames[static_cast<int>(value.choice->kind)], {}, ConfigCodec<double>::Write(value.choice->value)}});
}

ConfigType ConfigCodec<InputNames>::Type() {
  return {.kind = ConfigType::Kind::kCustom, .spelling = "a name or a list of names"};
}
void ConfigCodec<InputNames>::Read(const ConfigNode& node, const Bounds& bounds, InputNames& out,
                                   ConfigReader& reader) {
  if (node.is_list())
    return ConfigCodec<std::vector<std::string>>::Read(node, bounds & Count(1, 64), out.names, reader);
  std::string name;
  const std::size_t before = reader.problems().count();
  ConfigCodec<std::string>::Read(node, bounds, name, reader);
  if (reader.problems().count() == before) out.names.assign(1, name);
}
ConfigNode ConfigCodec<InputNames>::Write(const InputNames& value) {
  if (value.names.empty()) return ConfigNode();
  return ConfigCodec<std::vector<std::string>>::Write(value.names);
}

Result<graph::ValueId> LayerBuilder::Parameter(std::string_view suffix, const Shape& shape, const Initializer& init) {
  TENON_TRY(Shape::Make(shape.dims()));
  const std::string full = fmt::format("{}.{}", name, suffix);
  initial.emplace(full, InitialTensor{init, shape});
  return graph.AddParameter(full, {DType::kF32, SymShape(shape)});
}

Result<graph::ValueId> LayerBuilder::State(std::string_view suffix, const Shape& shape, const Initializer& init) {
  TENON_TRY(Shape::Make(shape.dims()));
  const std::string full = fmt::format("{}.{}", name, suffix);
  initial.emplace(full, InitialTensor{init, shape});
  return graph.AddState(full, {DType::kF32, SymShape(shape)});
}

Result<std::vector<graph::ValueId>> LayerBuilder::Node(std::string_view domain, std::string_view op,
                                                       std::span<const graph::ValueId> in, Attributes attrs,
                                                       int outputs, std::string_view part) {
  const std::string node_name = part.empty() ? name : fmt::format("{}.{}", name, part);
  TENON_ASSIGN(const graph::NodeId id, graph.AddNode(domain, op, in, std::move(attrs), outputs, node_name, place));
  return graph.node(id).outputs;
}

graph::ValueId LayerBuilder::Ints(std::string_view suffix, std::span<const std::int64_t> values) {
  return graph.AddConstant(fmt::format("{}.{}", name, suffix),
                           Tensor::Of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

Result<int> LayerBuilder::SpatialRank(std::string_view kind) const {
  const SymShape& shape = type(0).shape;
  TENON_INVALID_IF(shape.rank() < 3 || shape.rank() > 5,
                   "A {} layer needs an input [batch, channels, 1 to 3 spatial axes]; its input is {}.", kind,
                   type(0).ToString());
  return shape.rank() - 2;
}

Result<std::int64_t> LayerBuilder::KnownDim(int axis) const {
  const Dim dim = type(0).shape[axis];
  TENON_INVALID_IF(!dim.known(), "Axis {} of the input {} must be known to size the parameters.", axis,
                   type(0).ToString());
  return dim.value();
}

const std::vector<LayerKind>& LayerKinds() {
  static const std::vector<LayerKind> kinds = [] {
    std::vector<LayerKind> all;
    for (auto family : {ConvLayers, ConvTransposeLayers, LinearLayers, EmbeddingLayers, PositionLayers, AttentionLayers,
                        TransformerBlockLayers, BatchNormLayers, LayerNormLayers, NormalizationLayers, ParameterLayers,
                        PoolLayers, ActivationLayers, ShapeLayers, ArithmeticLayers, OperatorLayers}) {
      for (LayerKind& kind : family()) all.push_back(std::move(kind));
    }
    return all;
  }();
  return kinds;
}

}  // namespace tenon

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config/fields.h"
#include "core/graph/graph.h"
#include "core/train/initializer.h"

namespace tenon {

// One number for all spatial axes, or one per axis.
struct PerAxis {
  std::vector<std::int64_t> values;
  // `count` numbers, or an error that names both counts.
  Result<std::vector<std::int64_t>> Expand(int count, std::string_view key) const;
};
template <>
struct ConfigCodec<PerAxis> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, PerAxis& out, ConfigReader& reader);
  static ConfigNode Write(const PerAxis& value);
};

// `init: {normal: 0.02}`, `{uniform: a}` or `{constant: c}`: how the weight of a layer starts.
struct InitChoice {
  std::optional<Initializer> choice;
};
template <>
struct ConfigCodec<InitChoice> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, InitChoice& out, ConfigReader& reader);
  static ConfigNode Write(const InitChoice& value);
};

// A value name, or a list of them.
struct InputNames {
  std::vector<std::string> names;
};
template <>
struct ConfigCodec<InputNames> {
  static ConfigType Type();
  static void Read(const ConfigNode& node, const Bounds& bounds, InputNames& out, ConfigReader& reader);
  static ConfigNode Write(const InputNames& value);
};

// Keys that every layer has.
struct LayerKeys {
  std::string name;                  // empty: made from the kind and its count ("conv1")
  InputNames input;                  // empty: the layer before; "input" is the batch
  std::vector<std::string> outputs;  // names of several outputs
};

// What a layer's builder works with: the graph, its inputs, and parameters by name.
class LayerBuilder {
 public:
  graph::Graph& graph;
  std::string name;   // of the layer
  std::string place;  // "run.yaml:14:5"
  std::vector<graph::ValueId> inputs;
  bool training;                                  // false: inference, running statistics are used, dropout does nothing
  std::map<std::string, InitialTensor>& initial;  // of parameters and states, by name
  bool sync_batch_norm = false;                   // statistics of a batch are those of all ranks
  std::int64_t longest = 0;  // samples have different lengths and none is longer; 0: all have that of the batch
  bool exact = false;        // set by a layer that computes in float32 whatever the precision of the run

  const ValueType& type(std::size_t input) const { return graph.value(inputs[input]).type; }
  // "<layer>.<suffix>", trained, float32. Dims of more than 2^62 elements are refused.
  Result<graph::ValueId> Parameter(std::string_view suffix, const Shape& shape, const Initializer& init);
  // Kept but not trained.
  Result<graph::ValueId> State(std::string_view suffix, const Shape& shape, const Initializer& init);
  // Running statistics and the like: after a training step `state` holds `value`.
  void Update(graph::ValueId state, graph::ValueId value) { graph.updates.push_back({state, value}); }
  // A node named after the layer (with `part` behind it where a layer has several); its outputs.
  Result<std::vector<graph::ValueId>> Node(std::string_view domain, std::string_view op,
                                           std::span<const graph::ValueId> in, Attributes attrs, int outputs = 1,
                                           std::string_view part = "");
  Result<std::vector<graph::ValueId>> Op(std::string_view op, std::initializer_list<graph::ValueId> in,
                                         Attributes attrs = {}, int outputs = 1, std::string_view part = "") {
    return Node("", op, std::span<const graph::ValueId>(in.begin(), in.size()), std::move(attrs), outputs, part);
  }
  graph::ValueId Ints(std::string_view suffix, std::span<const std::int64_t> values);
  // Rank of input 0 minus batch and channel; an error below 1 names the shape.
  Result<int> SpatialRank(std::string_view kind) const;
  // Dim `axis` of input 0 when it is known.
  Result<std::int64_t> KnownDim(int axis) const;
};

using LayerResult = Result<std::vector<graph::ValueId>>;

// A kind of layer: its keys and how it adds itself to a graph.
struct LayerKind {
  std::string name;  // "conv"
  int inputs;        // how many; -1: any number from 1
  const ConfigTable* table;
  // Reads the layer's map (problems into `reader`) and returns what builds it; empty after a problem.
  std::function<std::function<LayerResult(LayerBuilder&)>(const ConfigNode& node, LayerKeys& keys,
                                                          ConfigReader& reader)>
      read;
};

// All kinds, in the order of the reference page.
const std::vector<LayerKind>& LayerKinds();

// Fields for the common keys, of a struct that derives from LayerKeys, followed by its own.
template <class T>
std::vector<ConfigField> LayerFields(std::vector<ConfigField> own) {
  std::string T::*layer_name = &T::name;
  InputNames T::*input = &T::input;
  std::vector<std::string> T::*outputs = &T::outputs;
  own.push_back(Field("name", layer_name, "name of the layer; absent: its kind and number"));
  own.push_back(Field("input", input, "the value or values it reads; absent: the layer before, `input` is the batch"));
  own.push_back(Field("outputs", outputs, "names of several outputs"));
  return own;
}

// A kind from a struct with a table and a build function.
template <class T>
LayerKind MakeLayerKind(std::string name, int inputs, LayerResult (*build)(LayerBuilder&, const T&)) {
  LayerKind kind;
  kind.name = std::move(name);
  kind.inputs = inputs;
  kind.table = &ConfigTableOf(static_cast<const T*>(nullptr));
  kind.read = [build](const ConfigNode& node, LayerKeys& keys,
                      ConfigReader& reader) -> std::function<LayerResult(LayerBuilder&)> {
    const std::size_t before = reader.problems().count();
    T layer{};
    ReadFields(ConfigTableOf(&layer), node, &layer, reader);
    if (reader.problems().count() > before) return {};
    keys = static_cast<const LayerKeys&>(layer);
    return [build, layer](LayerBuilder& builder) { return build(builder, layer); };
  };
  return kind;
}

// One function per file of core/train/layers.
std::vector<LayerKind> ArithmeticLayers();  // add, sub, mul, div, reduce_mean
std::vector<LayerKind> ActivationLayers();  // relu ... gelu, softmax, dropout
std::vector<LayerKind> AttentionLayers();
std::vector<LayerKind> BatchNormLayers();
std::vector<LayerKind> ConvLayers();
std::vector<LayerKind> ConvTransposeLayers();
std::vector<LayerKind> EmbeddingLayers();
std::vector<LayerKind> LayerNormLayers();
std::vector<LayerKind> LinearLayers();         // linear, tied_linear
std::vector<LayerKind> NormalizationLayers();  // rms_norm, group_norm, instance_norm
std::vector<LayerKind> OperatorLayers();       // op
std::vector<LayerKind> ParameterLayers();
std::vector<LayerKind> PoolLayers();
std::vector<LayerKind> PositionLayers();
std::vector<LayerKind> ShapeLayers();  // flatten, reshape, transpose, concat
std::vector<LayerKind> TransformerBlockLayers();

}  // namespace tenon

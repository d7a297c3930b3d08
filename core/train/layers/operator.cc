// op: any operator by domain and type, attributes and constant inputs named as in its definition.
#include <algorithm>

#include "core/base/text.h"
#include "core/train/layer.h"
#include "core/train/layers/operator_values.h"

namespace tenon {
namespace {

struct Operator : LayerKeys {
  std::string domain;
  std::string type;
  std::int64_t version = 0;
  ConfigNode attrs;
  ConfigNode constants;
};

const ConfigTable& ConfigTableOf(const Operator*) {
  static const ConfigTable table = Table<Operator>(
      "Any operator.", LayerFields<Operator>({
                           Field("domain", &Operator::domain, "empty: ONNX"),
                           Field("type", &Operator::type, Required(), "the operator's name"),
                           Field("version", &Operator::version, Between(0, 1000000), "opset version; 0: the newest"),
                           Field("attrs", &Operator::attrs, "its attributes"),
                           Field("constants", &Operator::constants, "inputs, by name, that are constant"),
                       }));
  return table;
}

Result<Attributes> ReadAttributes(const Operator& layer, const OpDef& def) {
  Attributes attrs;
  if (!layer.attrs.is_null() && !layer.attrs.is_map())
    return InvalidArgument("'attrs' needs a map (key: value), but is {}.", layer.attrs.Describe())
        .At(layer.attrs.place().ToString());
  for (const ConfigEntry& entry : layer.attrs.entries()) {
    const auto& known = def.attrs();
    const auto match =
        std::find_if(known.begin(), known.end(), [&](const AttrDef& attr) { return attr.name == entry.key; });
    if (match == known.end()) {
      attrs.Set(entry.key, std::int64_t{0});  // refused by the graph with the nearest name
      continue;
    }
    TENON_ASSIGN(AttrValue value,
                 ReadAttribute(entry.value, *match, fmt::format("{} attribute '{}'", def.FullName(), entry.key)));
    attrs.Set(entry.key, std::move(value));
  }
  return attrs;
}

// Puts the constants at their inputs and the values that the layer reads, in order, at the others.
class InputSlots {
 public:
  InputSlots(LayerBuilder& builder, const Operator& layer, const OpDef& def)
      : builder_(builder), layer_(layer), def_(def), slots_(def.inputs().size(), graph::kNone) {}

  Result<std::vector<graph::ValueId>> Fill() {
    if (!layer_.constants.is_null() && !layer_.constants.is_map())
      return InvalidArgument("'constants' needs a map (input: value), but is {}.", layer_.constants.Describe())
          .At(layer_.constants.place().ToString());
    std::vector<std::size_t> constant;
    for (const ConfigEntry& entry : layer_.constants.entries()) {
      TENON_ASSIGN(const std::size_t slot, SlotOf(entry));
      constant.push_back(slot);
    }
    PlaceValues(constant);
    for (std::size_t i = 0; i < constant.size(); ++i) {
      TENON_TRY(PlaceConstant(layer_.constants.entries()[i], constant[i]));
    }
    return slots_;
  }

 private:
  Result<std::size_t> SlotOf(const ConfigEntry& entry) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < def_.inputs().size(); ++i) {
      const ArgDef& input = def_.inputs()[i];
      if (input.arity == Arity::kVariadic) continue;
      if (input.name == entry.key) return i;
      names.push_back(input.name);
    }
    const std::string nearest = NearestName(entry.key, names);
    return InvalidArgument("{} has no input '{}' that a constant can stand for.{}", def_.FullName(), entry.key,
                           nearest.empty() ? std::string() : fmt::format(" Did you mean '{}'?", nearest))
        .At(entry.key_place.ToString());
  }

  // Nothing is read where no input is named and the constants leave no input that is needed.
  void PlaceValues(const std::vector<std::size_t>& constant) {
    std::vector<std::size_t> open;
    bool needed = false;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (std::find(constant.begin(), constant.end(), i) != constant.end()) continue;
      open.push_back(i);
      needed = needed || def_.inputs()[i].arity != Arity::kOptional;
    }
    if (!needed && layer_.input.names.empty()) return;
    for (std::size_t k = 0; k < builder_.inputs.size(); ++k) {
      if (k < open.size()) {
        slots_[open[k]] = builder_.inputs[k];
      } else {
        slots_.push_back(builder_.inputs[k]);  // more of a variadic input, or too many: the definition tells
      }
    }
  }

  // Without a dtype of its own a constant has the one that its group has, or the only one that the input takes.
  Status PlaceConstant(const ConfigEntry& entry, std::size_t slot) {
    const ArgDef& input = def_.inputs()[slot];
    std::optional<DType> wanted;
    for (const DType dtype : {DType::kI64, DType::kBool, DType::kF32}) {
      if (!wanted && input.types.Has(dtype) && input.types.ToString() == NameOf(dtype)) wanted = dtype;
    }
    for (std::size_t i = 0; i < def_.inputs().size(); ++i) {
      const bool given = slots_[i] != graph::kNone && !input.group.empty() && def_.inputs()[i].group == input.group;
      if (given) wanted = builder_.graph.value(slots_[i]).type.dtype;
    }
    TENON_ASSIGN(Tensor tensor,
                 ReadTensor(entry.value, wanted, fmt::format("{} input '{}'", def_.FullName(), entry.key)));
    slots_[slot] = builder_.graph.AddConstant(fmt::format("{}.{}", builder_.name, entry.key), std::move(tensor));
    return {};
  }

  LayerBuilder& builder_;
  const Operator& layer_;
  const OpDef& def_;
  std::vector<graph::ValueId> slots_;
};

LayerResult Build(LayerBuilder& builder, const Operator& layer) {
  auto found = builder.graph.ops().Find(layer.domain, layer.type, static_cast<int>(layer.version));
  if (!found.ok()) return std::move(found).status().At(builder.place);
  const OpDef* def = *found;
  TENON_ASSIGN(Attributes attrs, ReadAttributes(layer, *def));
  TENON_ASSIGN(const std::vector<graph::ValueId> inputs, InputSlots(builder, layer, *def).Fill());
  const auto& declared = def->outputs();
  const auto required =
      std::count_if(declared.begin(), declared.end(), [](const ArgDef& arg) { return arg.arity == Arity::kRequired; });
  const int outputs = std::max({static_cast<int>(layer.outputs.size()), static_cast<int>(required), 1});
  TENON_ASSIGN(const graph::NodeId id,
               builder.graph.AddNode(layer.domain, layer.type, inputs, std::move(attrs), outputs, builder.name,
                                     builder.place, static_cast<int>(layer.version)));
  return builder.graph.node(id).outputs;
}

}  // namespace

std::vector<LayerKind> OperatorLayers() { return {MakeLayerKind<Operator>("op", -1, Build)}; }

}  // namespace tenon

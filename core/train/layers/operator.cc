// op: any operator by domain and type, attributes named as in its definition.
#include <algorithm>

#include "core/train/layer.h"

namespace tenon {
namespace {

struct Operator : LayerKeys {
  std::string domain;
  std::string type;
  std::int64_t version = 0;
  ConfigNode attrs;
};

const ConfigTable& ConfigTableOf(const Operator*) {
  static const ConfigTable table = Table<Operator>(
      "Any operator.", LayerFields<Operator>({
                           Field("domain", &Operator::domain, "empty: ONNX"),
                           Field("type", &Operator::type, Required(), "the operator's name"),
                           Field("version", &Operator::version, AtLeast(0), "opset version; 0: the newest"),
                           Field("attrs", &Operator::attrs, "its attributes"),
                       }));
  return table;
}

// `what` names operator and attribute.
Result<double> Number(const ConfigNode& node, const std::string& what) {
  std::string complaint;
  const auto value = ReadNumber(node, true, complaint);
  if (!value) return InvalidArgument("{} {}", what, complaint).At(node.place().ToString());
  return *value;
}

Result<std::int64_t> Integer(const ConfigNode& node, const std::string& what) {
  std::string complaint;
  if (node.text() == "true" || node.text() == "false") return std::int64_t{node.text() == "true" ? 1 : 0};
  const auto value = ReadInteger(node, complaint);
  if (!value) return InvalidArgument("{} {}", what, complaint).At(node.place().ToString());
  return *value;
}

Result<AttrValue> ReadAttribute(const ConfigNode& node, AttrType type, const std::string& what) {
  switch (type) {
    case AttrType::kInt: {
      TENON_ASSIGN(const std::int64_t value, Integer(node, what));
      return AttrValue(value);
    }
    case AttrType::kFloat: {
      TENON_ASSIGN(const double value, Number(node, what));
      return AttrValue(value);
    }
    case AttrType::kText:
      return AttrValue(node.text());
    case AttrType::kInts: {
      std::vector<std::int64_t> values;
      for (const ConfigNode& item : node.items()) {
        TENON_ASSIGN(const std::int64_t value, Integer(item, what));
        values.push_back(value);
      }
      return AttrValue(std::move(values));
    }
    case AttrType::kFloats: {
      std::vector<double> values;
      for (const ConfigNode& item : node.items()) {
        TENON_ASSIGN(const double value, Number(item, what));
        values.push_back(value);
      }
      return AttrValue(std::move(values));
    }
    case AttrType::kTexts: {
      std::vector<std::string> values;
      for (const ConfigNode& item : node.items()) values.push_back(item.text());
      return AttrValue(std::move(values));
    }
    case AttrType::kTensor:
      break;
  }
  return InvalidArgument("{} is a tensor, which cannot be written here.", what).At(node.place().ToString());
}

bool FormFits(const ConfigNode& node, AttrType type) {
  const bool list = type == AttrType::kInts || type == AttrType::kFloats || type == AttrType::kTexts;
  return list ? node.is_list() : node.is_scalar();
}

LayerResult Build(LayerBuilder& builder, const Operator& layer) {
  auto found = builder.graph.ops().Find(layer.domain, layer.type, static_cast<int>(layer.version));
  if (!found.ok()) return std::move(found).status().At(builder.place);
  const OpDef* def = *found;
  Attributes attrs;
  if (!layer.attrs.is_null() && !layer.attrs.is_map())
    return InvalidArgument("'attrs' needs a map (key: value), but is {}.", layer.attrs.Describe())
        .At(layer.attrs.place().ToString());
  for (const ConfigEntry& entry : layer.attrs.entries()) {
    const auto& known = def->attrs();
    const auto match =
        std::find_if(known.begin(), known.end(), [&](const AttrDef& attr) { return attr.name == entry.key; });
    if (match == known.end()) {
      attrs.Set(entry.key, std::int64_t{0});  // refused below with the nearest name
      continue;
    }
    if (!FormFits(entry.value, match->type))
      return InvalidArgument("{} attribute '{}' is {}; expected a {}.", def->FullName(), entry.key,
                             entry.value.Describe(), NameOf(match->type))
          .At(entry.value.place().ToString());
    TENON_ASSIGN(AttrValue value,
                 ReadAttribute(entry.value, match->type, fmt::format("{} attribute '{}'", def->FullName(), entry.key)));
    attrs.Set(entry.key, std::move(value));
  }
  const auto& declared = def->outputs();
  const auto required =
      std::count_if(declared.begin(), declared.end(), [](const ArgDef& arg) { return arg.arity == Arity::kRequired; });
  const int outputs = std::max({static_cast<int>(layer.outputs.size()), static_cast<int>(required), 1});
  TENON_ASSIGN(const graph::NodeId id,
               builder.graph.AddNode(layer.domain, layer.type, builder.inputs, std::move(attrs), outputs, builder.name,
                                     builder.place, static_cast<int>(layer.version)));
  return builder.graph.node(id).outputs;
}

}  // namespace

std::vector<LayerKind> OperatorLayers() { return {MakeLayerKind<Operator>("op", -1, Build)}; }

}  // namespace tenon

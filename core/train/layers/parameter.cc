// parameter: a trained tensor of its own, without input; `<name>.weight`.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Parameter : LayerKeys {
  std::vector<std::int64_t> shape;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const Parameter*) {
  static const ConfigTable table =
      Table<Parameter>("A trained tensor.", LayerFields<Parameter>({
                                                Field("shape", &Parameter::shape, AtLeast(1) & Required(), "its dims"),
                                                Field("init", &Parameter::init, "how it starts; absent: zeros"),
                                            }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const Parameter& parameter) {
  TENON_ASSIGN(const Shape shape, Shape::Make(parameter.shape));
  TENON_ASSIGN(const graph::ValueId weight,
               builder.Parameter("weight", shape, parameter.init.choice.value_or(Initializer::Constant(0))));
  return std::vector<graph::ValueId>{weight};
}

}  // namespace

std::vector<LayerKind> ParameterLayers() { return {MakeLayerKind<Parameter>("parameter", 0, Build)}; }

}  // namespace tenon

// layer_norm: scale and shift per feature after normalising the last axis of each position by itself.
#include "core/train/layers/transformer_parts.h"

namespace tenon {
namespace {

struct LayerNorm : LayerKeys {
  double eps = 1e-5;
  bool bias = true;
};

const ConfigTable& ConfigTableOf(const LayerNorm*) {
  static const ConfigTable table = Table<LayerNorm>(
      "Normalisation of the last axis.", LayerFields<LayerNorm>({
                                             Field("eps", &LayerNorm::eps, Above(0), "added to the variance"),
                                             Field("bias", &LayerNorm::bias, "add a number per feature"),
                                         }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const LayerNorm& norm) {
  TENON_INVALID_IF(builder.type(0).shape.rank() < 2,
                   "A layer_norm layer needs an input [batch, ..., features]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const graph::ValueId y, AddLayerNorm(builder, builder.inputs[0], norm.eps, norm.bias, ""));
  return std::vector<graph::ValueId>{y};
}

}  // namespace

std::vector<LayerKind> LayerNormLayers() { return {MakeLayerKind<LayerNorm>("layer_norm", 1, Build)}; }

}  // namespace tenon

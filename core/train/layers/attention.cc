// attention: every position of a sequence reads the others through `heads` softmax-weighted sums. Parameters
// in_proj_weight [3 width, width], in_proj_bias, out_proj.weight and out_proj.bias, started as in PyTorch.
#include "core/train/layers/transformer_parts.h"

namespace tenon {
namespace {

struct Attention : LayerKeys {
  std::int64_t heads = 1;
  bool causal = false;
  double dropout = 0.0;
  bool bias = true;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const Attention*) {
  static const ConfigTable table = Table<Attention>(
      "Multi-head attention of a sequence [batch, length, width] to itself.",
      LayerFields<Attention>({
          Field("heads", &Attention::heads, AtLeast(1) & Required(), "parts of the width that attend on their own"),
          Field("causal", &Attention::causal, "a position reads itself and those before it only"),
          Field("dropout", &Attention::dropout, AtLeast(0) & Below(1), "share of the weights set to 0 in training"),
          Field("bias", &Attention::bias, "add a number per output of both products"),
          Field("init", &Attention::init, "how both weights start"),
      }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const Attention& layer) {
  TENON_ASSIGN(const Sequence sequence, AsRows(builder, "attention"));
  AttentionPart part{layer.heads, layer.causal, layer.bias, layer.dropout, layer.init.choice, layer.init.choice};
  TENON_ASSIGN(const graph::ValueId rows, AddAttention(builder, sequence.rows, sequence, part, ""));
  TENON_ASSIGN(const graph::ValueId out, AsSequence(builder, rows, sequence, sequence.width, "unfold"));
  return std::vector<graph::ValueId>{out};
}

}  // namespace

std::vector<LayerKind> AttentionLayers() { return {MakeLayerKind<Attention>("attention", 1, Build)}; }

}  // namespace tenon

// transformer_block: attention and two linear layers, each added to what it read, with a layer norm before (norm_first) or
// after each sum. Parameters are named and started as those of torch.nn.TransformerEncoderLayer.
#include <cmath>

#include "core/train/layers/transformer_parts.h"

namespace tenon {
namespace {

struct Block : LayerKeys {
  std::int64_t heads = 1;
  std::int64_t hidden = 0;
  std::string activation = "gelu";
  bool norm_first = true;
  bool causal = false;
  double dropout = 0.0;
  double eps = 1e-5;
  bool bias = true;
  InitChoice init, init_residual;
};

const ConfigTable& ConfigTableOf(const Block*) {
  static const ConfigTable table = Table<Block>(
      "Attention and a pair of linear layers, each with a residual sum and a layer norm.",
      LayerFields<Block>({
          Field("heads", &Block::heads, AtLeast(1) & Required(), "parts of the width that attend on their own"),
          Field("hidden", &Block::hidden, AtLeast(0), "width between the two linear layers; 0: four times the width"),
          Field("activation", &Block::activation, OneOf({"relu", "gelu", "gelu_tanh"}), "between the linear layers"),
          Field("norm_first", &Block::norm_first, "normalise what each branch reads, not the sums"),
          Field("causal", &Block::causal, "a position reads itself and those before it only"),
          Field("dropout", &Block::dropout, AtLeast(0) & Below(1),
                "share set to 0 in training: attention weights, hidden values, both branches"),
          Field("eps", &Block::eps, Above(0), "added to the variance of the layer norms"),
          Field("bias", &Block::bias, "add numbers in the linear layers and layer norms"),
          Field("init", &Block::init, "how the weights start"),
          Field("init_residual", &Block::init_residual, "how the last weight of each branch starts; absent: as init"),
      }));
  return table;
}

Result<graph::ValueId> Activate(LayerBuilder& builder, graph::ValueId x, const std::string& activation) {
  Attributes attrs;
  if (activation != "relu") attrs.Set("approximate", std::string(activation == "gelu" ? "none" : "tanh"));
  TENON_ASSIGN(const auto y, builder.Op(activation == "relu" ? "Relu" : "Gelu", {x}, attrs, 1, "activation"));
  return y[0];
}

Result<graph::ValueId> FeedForward(LayerBuilder& builder, graph::ValueId rows, std::int64_t width, const Block& block) {
  const std::int64_t hidden = block.hidden == 0 ? 4 * width : block.hidden;
  const auto fan_in = [](std::int64_t in) { return Initializer::Uniform(1.0 / std::sqrt(static_cast<double>(in))); };
  const auto bias = [&](std::int64_t in) { return block.init.choice ? Initializer::Constant(0) : fan_in(in); };
  const auto& last = block.init_residual.choice ? block.init_residual.choice : block.init.choice;
  const LinearPart up{width, hidden, block.init.choice.value_or(fan_in(width)), bias(width), block.bias};
  const LinearPart down{hidden, width, last.value_or(fan_in(hidden)), bias(hidden), block.bias};
  TENON_ASSIGN(graph::ValueId x, AddLinear(builder, rows, up, "linear1"));
  TENON_ASSIGN(x, Activate(builder, x, block.activation));
  TENON_ASSIGN(x, AddDropout(builder, x, block.dropout, "dropout"));
  TENON_ASSIGN(x, AddLinear(builder, x, down, "linear2"));
  return AddDropout(builder, x, block.dropout, "dropout2");
}

Result<graph::ValueId> Attend(LayerBuilder& builder, graph::ValueId rows, const Sequence& like, const Block& block) {
  const auto& last = block.init_residual.choice ? block.init_residual.choice : block.init.choice;
  const AttentionPart part{block.heads, block.causal, block.bias, block.dropout, block.init.choice, last};
  TENON_ASSIGN(const graph::ValueId x, AddAttention(builder, rows, like, part, "self_attn"));
  return AddDropout(builder, x, block.dropout, "dropout1");
}

// x + branch(norm(x)), or norm(x + branch(x)).
template <class Branch>
Result<graph::ValueId> Residual(LayerBuilder& builder, graph::ValueId x, const Block& block, const std::string& norm,
                                Branch branch) {
  const std::string sum_name = norm == "norm1" ? "sum1" : "sum2";
  graph::ValueId read = x;
  if (block.norm_first) {
    TENON_ASSIGN(read, AddLayerNorm(builder, x, block.eps, block.bias, norm));
  }
  TENON_ASSIGN(const graph::ValueId added, branch(read));
  TENON_ASSIGN(const auto sum, builder.Op("Add", {x, added}, {}, 1, sum_name));
  if (block.norm_first) return sum[0];
  return AddLayerNorm(builder, sum[0], block.eps, block.bias, norm);
}

LayerResult Build(LayerBuilder& builder, const Block& block) {
  TENON_ASSIGN(const Sequence sequence, AsRows(builder, "transformer_block"));
  TENON_ASSIGN(graph::ValueId x, Residual(builder, sequence.rows, block, "norm1",
                                          [&](graph::ValueId read) { return Attend(builder, read, sequence, block); }));
  TENON_ASSIGN(x, Residual(builder, x, block, "norm2",
                           [&](graph::ValueId read) { return FeedForward(builder, read, sequence.width, block); }));
  TENON_ASSIGN(const graph::ValueId out, AsSequence(builder, x, sequence, sequence.width, "unfold"));
  return std::vector<graph::ValueId>{out};
}

}  // namespace

std::vector<LayerKind> TransformerBlockLayers() { return {MakeLayerKind<Block>("transformer_block", 1, Build)}; }

}  // namespace tenon

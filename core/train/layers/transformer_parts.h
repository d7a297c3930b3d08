#pragma once

#include <optional>
#include <string>

#include "core/train/layer.h"

namespace tenon {

// Pieces that attention and transformer layers are made of. Each works on rows, a matrix [positions, width], and names its
// parameters and nodes after `part` of the layer ("" or "linear1").

// [batch, length, width] of input 0 as rows, and what is needed to undo it.
struct Sequence {
  graph::ValueId rows;
  std::int64_t length = 0, width = 0;
};
Result<Sequence> AsRows(LayerBuilder& builder, std::string_view kind);
// `rows` [batch * length, width] as [batch, length, width].
Result<graph::ValueId> AsSequence(LayerBuilder& builder, graph::ValueId rows, const Sequence& like, std::int64_t width,
                                  std::string_view part);

struct LinearPart {
  std::int64_t in = 0, out = 0;
  Initializer weight, bias;
  bool has_bias = true;
  std::string weight_name = "weight", bias_name = "bias";
};
Result<graph::ValueId> AddLinear(LayerBuilder& builder, graph::ValueId rows, const LinearPart& linear,
                                 const std::string& part);

// Weight 1, bias 0; over the last axis.
Result<graph::ValueId> AddLayerNorm(LayerBuilder& builder, graph::ValueId x, double eps, bool bias,
                                    const std::string& part);

// `x` itself where nothing is dropped.
Result<graph::ValueId> AddDropout(LayerBuilder& builder, graph::ValueId x, double ratio, const std::string& part);

// Multi-head attention of a sequence to itself: one product for queries, keys and values, ScaledDotProductAttention, one
// product for the result. Parameters are named and started as those of torch.nn.MultiheadAttention.
struct AttentionPart {
  std::int64_t heads = 1;
  bool causal = false, bias = true;
  double dropout = 0;  // of the probabilities, in training
  std::optional<Initializer> in, out;
};
Result<graph::ValueId> AddAttention(LayerBuilder& builder, graph::ValueId rows, const Sequence& like,
                                    const AttentionPart& attention, const std::string& part);

}  // namespace tenon

#include "core/train/layers/transformer_parts.h"

#include <cmath>

namespace tenon {
namespace {

std::string Join(const std::string& part, std::string_view name) {
  return part.empty() ? std::string(name) : fmt::format("{}.{}", part, name);
}

}  // namespace

Result<Sequence> AsRows(LayerBuilder& builder, std::string_view kind) {
  TENON_INVALID_IF(builder.type(0).shape.rank() != 3 || !IsFloating(builder.type(0).dtype),
                   "A {} layer needs an input [batch, length, width] of numbers; its input is {}.", kind,
                   builder.type(0).ToString());
  Sequence sequence;
  TENON_ASSIGN(sequence.length, builder.KnownDim(1));
  TENON_ASSIGN(sequence.width, builder.KnownDim(2));
  const std::int64_t dims[] = {-1, sequence.width};
  TENON_ASSIGN(const auto rows, builder.Op("Reshape", {builder.inputs[0], builder.Ints("rows", dims)}, {}, 1, "rows"));
  sequence.rows = rows[0];
  return sequence;
}

Result<graph::ValueId> AsSequence(LayerBuilder& builder, graph::ValueId rows, const Sequence& like, std::int64_t width,
                                  std::string_view part) {
  const std::int64_t dims[] = {-1, like.length, width};
  TENON_ASSIGN(const auto sequence,
               builder.Op("Reshape", {rows, builder.Ints(fmt::format("{}.dims", part), dims)}, {}, 1, part));
  return sequence[0];
}

Result<graph::ValueId> AddLinear(LayerBuilder& builder, graph::ValueId rows, const LinearPart& linear,
                                 const std::string& part) {
  TENON_ASSIGN(const graph::ValueId weight,
               builder.Parameter(Join(part, linear.weight_name), Shape{linear.out, linear.in}, linear.weight));
  std::vector<graph::ValueId> inputs = {rows, weight};
  if (linear.has_bias) {
    TENON_ASSIGN(const graph::ValueId bias,
                 builder.Parameter(Join(part, linear.bias_name), Shape{linear.out}, linear.bias));
    inputs.push_back(bias);
  }
  TENON_ASSIGN(const auto y, builder.Node("", "Gemm", inputs, {{"transB", std::int64_t{1}}}, 1, part));
  return y[0];
}

Result<graph::ValueId> AddLayerNorm(LayerBuilder& builder, graph::ValueId x, double eps, bool bias,
                                    const std::string& part) {
  const SymShape shape = builder.graph.value(x).type.shape;
  const Dim last = shape[shape.rank() - 1];
  TENON_INVALID_IF(!last.known(), "The last axis of {} must be known to size the parameters.",
                   builder.graph.value(x).type.ToString());
  const Shape width{last.value()};
  TENON_ASSIGN(const graph::ValueId scale, builder.Parameter(Join(part, "weight"), width, Initializer::Constant(1)));
  std::vector<graph::ValueId> inputs = {x, scale};
  if (bias) {
    TENON_ASSIGN(const graph::ValueId shift, builder.Parameter(Join(part, "bias"), width, Initializer::Constant(0)));
    inputs.push_back(shift);
  }
  TENON_ASSIGN(const auto y,
               builder.Node("", "LayerNormalization", inputs, {{"axis", std::int64_t{-1}}, {"epsilon", eps}}, 1, part));
  return y[0];
}

Result<graph::ValueId> AddDropout(LayerBuilder& builder, graph::ValueId x, double ratio, const std::string& part) {
  if (!builder.training || ratio == 0) return x;
  const std::string base = part.empty() ? builder.name : fmt::format("{}.{}", builder.name, part);
  const graph::ValueId share = builder.graph.AddConstant(base + ".ratio", Tensor::Scalar(static_cast<float>(ratio)));
  const graph::ValueId on = builder.graph.AddConstant(base + ".training", Tensor::Scalar(true));
  TENON_ASSIGN(const auto y, builder.Op("Dropout", {x, share, on}, {}, 1, part));
  return y[0];
}

Result<graph::ValueId> AddAttention(LayerBuilder& builder, graph::ValueId rows, const Sequence& like,
                                    const AttentionPart& attention, const std::string& part) {
  const std::int64_t width = like.width;
  TENON_INVALID_IF(width % attention.heads != 0, "The width of the input ({}) is not a multiple of heads ({}).", width,
                   attention.heads);
  const auto glorot = Initializer::Uniform(std::sqrt(6.0 / static_cast<double>(4 * width)));
  const auto fan_in = Initializer::Uniform(1.0 / std::sqrt(static_cast<double>(width)));
  LinearPart in{width, 3 * width, attention.in.value_or(glorot), Initializer::Constant(0), attention.bias};
  in.weight_name = "in_proj_weight";
  in.bias_name = "in_proj_bias";
  TENON_ASSIGN(const graph::ValueId packed_rows, AddLinear(builder, rows, in, part));
  TENON_ASSIGN(const graph::ValueId packed, AsSequence(builder, packed_rows, like, 3 * width, Join(part, "packed")));
  const Attributes attrs = {{"heads", attention.heads},
                            {"causal", std::int64_t{attention.causal ? 1 : 0}},
                            {"dropout", builder.training ? attention.dropout : 0.0}};
  const graph::ValueId inputs[] = {packed};
  TENON_ASSIGN(const auto mixed,
               builder.Node("tenon", "ScaledDotProductAttention", inputs, attrs, 1, Join(part, "mix")));
  const std::int64_t dims[] = {-1, width};
  TENON_ASSIGN(const auto mixed_rows, builder.Op("Reshape", {mixed[0], builder.Ints(Join(part, "mixed.dims"), dims)},
                                                 {}, 1, Join(part, "mixed")));
  const LinearPart out{width, width, attention.out.value_or(fan_in), Initializer::Constant(0), attention.bias};
  return AddLinear(builder, mixed_rows[0], out, Join(part, "out_proj"));
}

}  // namespace tenon

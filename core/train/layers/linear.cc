// linear: y = x W^T + b over the last axis; weight [out, in], bias [out]; starts as in PyTorch: uniform within
// 1 / sqrt(in). tied_linear: the same without parameters of its own; its second input is the weight.
#include <cmath>

#include "core/train/layer.h"

namespace tenon {
namespace {

struct Linear : LayerKeys {
  std::int64_t out = 0;
  bool bias = true;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const Linear*) {
  static const ConfigTable table = Table<Linear>("Matrix product over the last axis.",
                                                 LayerFields<Linear>({
                                                     Field("out", &Linear::out, AtLeast(1) & Required(), "outputs"),
                                                     Field("bias", &Linear::bias, "add a number per output"),
                                                     Field("init", &Linear::init, "how the weight starts"),
                                                 }));
  return table;
}

struct TiedLinear : LayerKeys {};

const ConfigTable& ConfigTableOf(const TiedLinear*) {
  static const ConfigTable table = Table<TiedLinear>(
      "Matrix product over the last axis with a weight [out, in] of another layer, such as the table of an embedding; "
      "input: [values, weight].",
      LayerFields<TiedLinear>({}));
  return table;
}

// x W^T + b over the last axis of input 0. Gemm takes matrices: leading axes become rows.
LayerResult Product(LayerBuilder& builder, graph::ValueId weight, graph::ValueId bias) {
  const SymShape shape = builder.type(0).shape;
  const Dim in = shape[shape.rank() - 1], out = builder.graph.value(weight).type.shape[0];
  graph::ValueId x = builder.inputs[0];
  const bool folds = shape.rank() > 2;
  if (folds) {
    const std::int64_t rows[] = {-1, in.value()};
    TENON_ASSIGN(const auto matrix, builder.Op("Reshape", {x, builder.Ints("rows", rows)}, {}, 1, "rows"));
    x = matrix[0];
  }
  std::vector<graph::ValueId> inputs = {x, weight};
  if (bias != graph::kNone) inputs.push_back(bias);
  TENON_ASSIGN(auto outputs, builder.Node("", "Gemm", inputs, {{"transB", std::int64_t{1}}}));
  if (!folds) return outputs;
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) dims.push_back(shape[axis].known() ? shape[axis].value() : 0);
  dims.push_back(out.value());
  return builder.Op("Reshape", {outputs[0], builder.Ints("dims", dims)}, {}, 1, "unfold");
}

LayerResult Build(LayerBuilder& builder, const Linear& linear) {
  const SymShape shape = builder.type(0).shape;
  TENON_INVALID_IF(shape.rank() < 2, "A linear layer needs an input [batch, ..., features]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const std::int64_t in, builder.KnownDim(shape.rank() - 1));
  const Initializer standard = Initializer::Uniform(1.0 / std::sqrt(static_cast<double>(in)));
  TENON_ASSIGN(const graph::ValueId weight,
               builder.Parameter("weight", Shape{linear.out, in}, linear.init.choice.value_or(standard)));
  graph::ValueId bias = graph::kNone;
  if (linear.bias) {
    TENON_ASSIGN(bias, builder.Parameter("bias", Shape{linear.out}, standard));
  }
  return Product(builder, weight, bias);
}

LayerResult BuildTied(LayerBuilder& builder, const TiedLinear&) {
  const SymShape &x = builder.type(0).shape, &weight = builder.type(1).shape;
  const bool fits =
      x.rank() >= 2 && weight.rank() == 2 && weight[0].known() && weight[1].known() && x[x.rank() - 1] == weight[1];
  TENON_INVALID_IF(!fits,
                   "A tied_linear layer needs an input [batch, ..., features] and a weight [out, features]; they are "
                   "{} and {}.",
                   builder.type(0).ToString(), builder.type(1).ToString());
  return Product(builder, builder.inputs[1], graph::kNone);
}

}  // namespace

std::vector<LayerKind> LinearLayers() {
  return {MakeLayerKind<Linear>("linear", 1, Build), MakeLayerKind<TiedLinear>("tied_linear", 2, BuildTied)};
}

}  // namespace tenon

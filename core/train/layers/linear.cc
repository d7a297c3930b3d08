// linear: y = x W^T + b over the last axis; weight [out, in], bias [out]; starts as in PyTorch: uniform within
// 1 / sqrt(in).
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

LayerResult Build(LayerBuilder& builder, const Linear& linear) {
  const SymShape shape = builder.type(0).shape;
  TENON_INVALID_IF(shape.rank() < 2, "A linear layer needs an input [batch, ..., features]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const std::int64_t in, builder.KnownDim(shape.rank() - 1));
  const Initializer standard = Initializer::Uniform(1.0 / std::sqrt(static_cast<double>(in)));
  graph::ValueId x = builder.inputs[0];
  const bool folds = shape.rank() > 2;  // Gemm takes matrices: leading axes become rows
  if (folds) {
    const std::int64_t rows[] = {-1, in};
    TENON_ASSIGN(const auto matrix, builder.Op("Reshape", {x, builder.Ints("rows", rows)}, {}, 1, "rows"));
    x = matrix[0];
  }
  TENON_ASSIGN(const graph::ValueId weight,
               builder.Parameter("weight", Shape{linear.out, in}, linear.init.choice.value_or(standard)));
  std::vector<graph::ValueId> inputs = {x, weight};
  if (linear.bias) {
    TENON_ASSIGN(const graph::ValueId bias, builder.Parameter("bias", Shape{linear.out}, standard));
    inputs.push_back(bias);
  }
  TENON_ASSIGN(auto outputs, builder.Node("", "Gemm", inputs, {{"transB", std::int64_t{1}}}));
  if (!folds) return outputs;
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) dims.push_back(shape[axis].known() ? shape[axis].value() : 0);
  dims.push_back(linear.out);
  return builder.Op("Reshape", {outputs[0], builder.Ints("dims", dims)}, {}, 1, "unfold");
}

}  // namespace

std::vector<LayerKind> LinearLayers() { return {MakeLayerKind<Linear>("linear", 1, Build)}; }

}  // namespace tenon

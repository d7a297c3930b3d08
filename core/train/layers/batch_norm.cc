// batch_norm: scale and shift per channel after normalising by the batch (training) or the running statistics
// (inference). momentum is ONNX's: the weight of the old running value.
#include "core/train/layer.h"
#include "core/train/layers/sync_batch_norm.h"

namespace tenon {
namespace {

struct BatchNorm : LayerKeys {
  double eps = 1e-5;
  double momentum = 0.9;
};

const ConfigTable& ConfigTableOf(const BatchNorm*) {
  static const ConfigTable table = Table<BatchNorm>(
      "Normalisation per channel over the batch.",
      LayerFields<BatchNorm>({
          Field("eps", &BatchNorm::eps, Above(0), "added to the variance"),
          Field("momentum", &BatchNorm::momentum, Between(0, 1), "weight of the old running statistics"),
      }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const BatchNorm& norm) {
  TENON_INVALID_IF(builder.type(0).shape.rank() < 2,
                   "A batch_norm layer needs an input [batch, channels, ...]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const std::int64_t channels, builder.KnownDim(1));
  const Shape shape{channels};
  TENON_ASSIGN(const graph::ValueId scale, builder.Parameter("weight", shape, Initializer::Constant(1)));
  TENON_ASSIGN(const graph::ValueId shift, builder.Parameter("bias", shape, Initializer::Constant(0)));
  TENON_ASSIGN(const graph::ValueId mean, builder.State("running_mean", shape, Initializer::Constant(0)));
  TENON_ASSIGN(const graph::ValueId var, builder.State("running_var", shape, Initializer::Constant(1)));
  if (builder.training && builder.sync_batch_norm) {
    TENON_ASSIGN(const graph::ValueId output,
                 AddSyncBatchNorm(builder, {scale, shift, mean, var}, norm.eps, norm.momentum));
    return std::vector<graph::ValueId>{output};
  }
  const Attributes attrs = {
      {"epsilon", norm.eps}, {"momentum", norm.momentum}, {"training_mode", std::int64_t{builder.training ? 1 : 0}}};
  TENON_ASSIGN(const auto outputs, builder.Op("BatchNormalization", {builder.inputs[0], scale, shift, mean, var}, attrs,
                                              builder.training ? 3 : 1));
  if (builder.training) {
    builder.Update(mean, outputs[1]);
    builder.Update(var, outputs[2]);
  }
  return std::vector<graph::ValueId>{outputs[0]};
}

}  // namespace

std::vector<LayerKind> BatchNormLayers() { return {MakeLayerKind<BatchNorm>("batch_norm", 1, Build)}; }

}  // namespace tenon

// rms_norm (over the last axis), group_norm, instance_norm (over groups of channels and all spatial axes). weight starts at
// 1, bias at 0.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct RmsNorm : LayerKeys {
  double eps = 1e-5;
};
struct GroupNorm : LayerKeys {
  std::int64_t groups = 0;
  double eps = 1e-5;
};
struct InstanceNorm : LayerKeys {
  double eps = 1e-5;
};

constexpr const char* kEpsSentence = "added to the variance";

const ConfigTable& ConfigTableOf(const RmsNorm*) {
  using T = RmsNorm;
  static const ConfigTable table = Table<T>("Division by the root of the mean square over the last axis.",
                                            LayerFields<T>({
                                                Field("eps", &T::eps, Above(0), "added to the mean square"),
                                            }));
  return table;
}
const ConfigTable& ConfigTableOf(const GroupNorm*) {
  using T = GroupNorm;
  static const ConfigTable table =
      Table<T>("Normalisation of each sample over groups of channels.",
               LayerFields<T>({
                   Field("groups", &T::groups, AtLeast(1) & Required(), "groups that the channels are divided into"),
                   Field("eps", &T::eps, Above(0), kEpsSentence),
               }));
  return table;
}
const ConfigTable& ConfigTableOf(const InstanceNorm*) {
  using T = InstanceNorm;
  static const ConfigTable table =
      Table<T>("Normalisation of each channel of each sample.", LayerFields<T>({
                                                                    Field("eps", &T::eps, Above(0), kEpsSentence),
                                                                }));
  return table;
}

// A parameter along axis `axis` of the input.
Result<graph::ValueId> AlongAxis(LayerBuilder& builder, int axis, const char* suffix, double value) {
  TENON_ASSIGN(const std::int64_t size, builder.KnownDim(axis));
  return builder.Parameter(suffix, Shape{size}, Initializer::Constant(value));
}

LayerResult BuildRmsNorm(LayerBuilder& builder, const RmsNorm& norm) {
  const int rank = builder.type(0).shape.rank();
  TENON_INVALID_IF(rank < 2, "An rms_norm layer needs an input [batch, ..., features]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const graph::ValueId weight, AlongAxis(builder, rank - 1, "weight", 1));
  return builder.Op("RMSNormalization", {builder.inputs[0], weight}, {{"epsilon", norm.eps}});
}

LayerResult BuildPerChannel(LayerBuilder& builder, const char* op, Attributes attrs) {
  TENON_ASSIGN(const graph::ValueId weight, AlongAxis(builder, 1, "weight", 1));
  TENON_ASSIGN(const graph::ValueId bias, AlongAxis(builder, 1, "bias", 0));
  return builder.Op(op, {builder.inputs[0], weight, bias}, std::move(attrs));
}
LayerResult BuildGroupNorm(LayerBuilder& builder, const GroupNorm& norm) {
  TENON_INVALID_IF(builder.type(0).shape.rank() < 2,
                   "A group_norm layer needs an input [batch, channels, ...]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const std::int64_t channels, builder.KnownDim(1));
  TENON_INVALID_IF(channels % norm.groups != 0, "groups ({}) must divide the channels ({}).", norm.groups, channels);
  return BuildPerChannel(builder, "GroupNormalization", {{"num_groups", norm.groups}, {"epsilon", norm.eps}});
}
LayerResult BuildInstanceNorm(LayerBuilder& builder, const InstanceNorm& norm) {
  TENON_TRY(builder.SpatialRank("instance_norm"));
  return BuildPerChannel(builder, "InstanceNormalization", {{"epsilon", norm.eps}});
}

}  // namespace

std::vector<LayerKind> NormalizationLayers() {
  return {MakeLayerKind<RmsNorm>("rms_norm", 1, BuildRmsNorm),
          MakeLayerKind<GroupNorm>("group_norm", 1, BuildGroupNorm),
          MakeLayerKind<InstanceNorm>("instance_norm", 1, BuildInstanceNorm)};
}

}  // namespace tenon

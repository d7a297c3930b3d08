// conv: weight [out, channels / group, kernel...] and bias [out]; starts as in PyTorch: uniform within
// 1 / sqrt(channels / group * kernel elements).
#include <cmath>

#include "core/train/layer.h"

namespace tenon {
namespace {

struct Conv : LayerKeys {
  std::int64_t out = 0;
  PerAxis kernel;
  PerAxis stride{{1}};
  PerAxis pad{{0}};
  PerAxis dilation{{1}};
  std::int64_t group = 1;
  bool bias = true;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const Conv*) {
  static const ConfigTable table =
      Table<Conv>("Convolution over 1 to 3 spatial axes.",
                  LayerFields<Conv>({
                      Field("out", &Conv::out, AtLeast(1) & Required(), "output channels"),
                      Field("kernel", &Conv::kernel, AtLeast(1) & Required(), "window"),
                      Field("stride", &Conv::stride, AtLeast(1), "steps of the window"),
                      Field("pad", &Conv::pad, AtLeast(0), "zeros on each side"),
                      Field("dilation", &Conv::dilation, AtLeast(1), "distance between the taps of the window"),
                      Field("group", &Conv::group, AtLeast(1), "channel groups that do not mix"),
                      Field("bias", &Conv::bias, "add a number per output channel"),
                      Field("init", &Conv::init, "how the weight starts"),
                  }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const Conv& conv) {
  TENON_ASSIGN(const int spatial, builder.SpatialRank("conv"));
  TENON_ASSIGN(const std::int64_t channels, builder.KnownDim(1));
  TENON_INVALID_IF(channels % conv.group != 0 || conv.out % conv.group != 0,
                   "group ({}) must divide the input channels ({}) and out ({}).", conv.group, channels, conv.out);
  TENON_ASSIGN(const auto kernel, conv.kernel.Expand(spatial, "kernel"));
  TENON_ASSIGN(const auto stride, conv.stride.Expand(spatial, "stride"));
  TENON_ASSIGN(auto pads, conv.pad.Expand(spatial, "pad"));
  TENON_ASSIGN(const auto dilation, conv.dilation.Expand(spatial, "dilation"));
  const std::vector<std::int64_t> one_side = pads;
  pads.insert(pads.end(), one_side.begin(), one_side.end());
  Shape dims{conv.out, channels / conv.group};
  double fan_in = static_cast<double>(channels / conv.group);
  for (const std::int64_t size : kernel) {
    dims.push_back(size);
    fan_in *= static_cast<double>(size);
  }
  const Initializer standard = Initializer::Uniform(1.0 / std::sqrt(fan_in));
  TENON_ASSIGN(const graph::ValueId weight, builder.Parameter("weight", dims, conv.init.choice.value_or(standard)));
  std::vector<graph::ValueId> inputs = {builder.inputs[0], weight};
  if (conv.bias) {
    TENON_ASSIGN(const graph::ValueId bias, builder.Parameter("bias", Shape{conv.out}, standard));
    inputs.push_back(bias);
  }
  return builder.Node(
      "", "Conv", inputs,
      {{"kernel_shape", kernel}, {"strides", stride}, {"pads", pads}, {"dilations", dilation}, {"group", conv.group}});
}

}  // namespace

std::vector<LayerKind> ConvLayers() { return {MakeLayerKind<Conv>("conv", 1, Build)}; }

}  // namespace tenon

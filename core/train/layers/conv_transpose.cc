// conv_transpose: weight [channels, out / group, kernel...] and bias [out]; starts as in PyTorch: uniform within
// 1 / sqrt(out / group * kernel elements).
#include <cmath>

#include "core/train/layer.h"

namespace tenon {
namespace {

struct ConvTranspose : LayerKeys {
  std::int64_t out = 0;
  PerAxis kernel;
  PerAxis stride{{1}};
  PerAxis pad{{0}};
  PerAxis output_pad{{0}};
  PerAxis dilation{{1}};
  std::int64_t group = 1;
  bool bias = true;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const ConvTranspose*) {
  using T = ConvTranspose;
  static const ConfigTable table =
      Table<T>("Transposed convolution over 1 to 3 spatial axes: the gradient of conv by its input.",
               LayerFields<T>({
                   Field("out", &T::out, AtLeast(1) & Required(), "output channels"),
                   Field("kernel", &T::kernel, AtLeast(1) & Required(), "window"),
                   Field("stride", &T::stride, AtLeast(1), "outputs from one input to the next"),
                   Field("pad", &T::pad, AtLeast(0), "outputs cut off on each side"),
                   Field("output_pad", &T::output_pad, AtLeast(0), "outputs added at the end, below the stride"),
                   Field("dilation", &T::dilation, AtLeast(1), "distance between the taps of the window"),
                   Field("group", &T::group, AtLeast(1), "channel groups that do not mix"),
                   Field("bias", &T::bias, "add a number per output channel"),
                   Field("init", &T::init, "how the weight starts"),
               }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const ConvTranspose& conv) {
  TENON_ASSIGN(const int spatial, builder.SpatialRank("conv_transpose"));
  TENON_ASSIGN(const std::int64_t channels, builder.KnownDim(1));
  TENON_INVALID_IF(channels % conv.group != 0 || conv.out % conv.group != 0,
                   "group ({}) must divide the input channels ({}) and out ({}).", conv.group, channels, conv.out);
  TENON_ASSIGN(const auto kernel, conv.kernel.Expand(spatial, "kernel"));
  TENON_ASSIGN(const auto stride, conv.stride.Expand(spatial, "stride"));
  TENON_ASSIGN(auto pads, conv.pad.Expand(spatial, "pad"));
  TENON_ASSIGN(const auto output_pad, conv.output_pad.Expand(spatial, "output_pad"));
  TENON_ASSIGN(const auto dilation, conv.dilation.Expand(spatial, "dilation"));
  const std::vector<std::int64_t> one_side = pads;
  pads.insert(pads.end(), one_side.begin(), one_side.end());
  Shape dims{channels, conv.out / conv.group};
  double fan = static_cast<double>(conv.out / conv.group);
  for (const std::int64_t size : kernel) {
    dims.push_back(size);
    fan *= static_cast<double>(size);
  }
  const Initializer standard = Initializer::Uniform(1.0 / std::sqrt(fan));
  TENON_ASSIGN(const graph::ValueId weight, builder.Parameter("weight", dims, conv.init.choice.value_or(standard)));
  std::vector<graph::ValueId> inputs = {builder.inputs[0], weight};
  if (conv.bias) {
    TENON_ASSIGN(const graph::ValueId bias, builder.Parameter("bias", Shape{conv.out}, standard));
    inputs.push_back(bias);
  }
  return builder.Node("", "ConvTranspose", inputs,
                      {{"kernel_shape", kernel},
                       {"strides", stride},
                       {"pads", pads},
                       {"output_padding", output_pad},
                       {"dilations", dilation},
                       {"group", conv.group}});
}

}  // namespace

std::vector<LayerKind> ConvTransposeLayers() { return {MakeLayerKind<ConvTranspose>("conv_transpose", 1, Build)}; }

}  // namespace tenon

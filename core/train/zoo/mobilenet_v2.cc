// MobileNetV2 (Sandler et al. 2018) with the layer names and initial weights of torchvision: convolutions normal with
// deviation sqrt(2 / (out channels * kernel elements)), the last layer normal with deviation 0.01.
#include "core/train/zoo/mobilenet_v2.h"

#include <cmath>

#include "core/train/zoo/layer_list.h"

namespace tenon {
namespace {

class MobileNetLayers {
 public:
  explicit MobileNetLayers(const Place& place) : layers_(place) {}

  std::vector<ConfigNode> Make(const MobileNetV2Config& config) {
    ConvNorm("features.0.0", "features.0.1", 32, 3, 2, 1);
    Relu6("features.0.2");
    struct Stage {
      std::int64_t expand, out, repeat, stride;
    };
    int number = 1;
    for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                               Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
      for (std::int64_t i = 0; i < stage.repeat; ++i)
        Block(number++, stage.expand, stage.out, i == 0 ? stage.stride : 1);
    }
    ConvNorm("features.18.0", "features.18.1", 1280, 1, 1, 1);
    Relu6("features.18.2");
    layers_.Add("global_average_pool", {{"name", "avgpool"}});
    layers_.Add("flatten", {{"name", "flatten"}});
    layers_.Add("dropout", {{"name", "classifier.0"}, {"ratio", config.dropout}});
    layers_.Add("linear", {{"name", "classifier.1"}, {"out", config.num_classes}, {"init", InitNode("normal", 0.01)}});
    return layers_.Take();
  }

 private:
  // Reads the layer above.
  void ConvNorm(const std::string& conv, const std::string& norm, std::int64_t out, std::int64_t kernel,
                std::int64_t stride, std::int64_t group) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
    layers_.Add("conv", {{"name", conv},
                         {"out", out},
                         {"kernel", kernel},
                         {"stride", stride},
                         {"pad", kernel / 2},
                         {"group", group},
                         {"bias", false},
                         {"init", InitNode("normal", deviation)}});
    layers_.Add("batch_norm", {{"name", norm}});
    top_ = norm;
    channels_ = out;
  }
  void Relu6(const std::string& name) {
    layers_.Add("clip", {{"name", name}, {"min", 0.0}, {"max", 6.0}});
    top_ = name;
  }

  // 1x1 to `expand` times the channels (none for 1), 3x3 of each channel, 1x1 to `out`; the input is added where its shape is
  // that of the output.
  void Block(int number, std::int64_t expand, std::int64_t out, std::int64_t stride) {
    const std::string prefix = fmt::format("features.{}.conv.", number), input = top_;
    const bool residual = stride == 1 && channels_ == out;
    const std::int64_t hidden = channels_ * expand;
    int part = 0;
    if (expand != 1) {
      ConvNorm(prefix + "0.0", prefix + "0.1", hidden, 1, 1, 1);
      Relu6(prefix + "0.2");
      part = 1;
    }
    const std::string depth = fmt::format("{}{}.", prefix, part);
    ConvNorm(depth + "0", depth + "1", hidden, 3, stride, hidden);
    Relu6(depth + "2");
    ConvNorm(fmt::format("{}{}", prefix, part + 1), fmt::format("{}{}", prefix, part + 2), out, 1, 1, 1);
    if (!residual) return;
    const std::vector<std::string> terms = {input, top_};
    top_ = fmt::format("features.{}.add", number);
    layers_.Add("add", {{"name", top_}, {"input", terms}});
  }

  LayerList layers_;
  std::string top_ = "input";
  std::int64_t channels_ = 3;  // of the layer above
};

}  // namespace

const ConfigTable& ConfigTableOf(const MobileNetV2Config*) {
  using T = MobileNetV2Config;
  static const ConfigTable table = Table<T>(
      "Inverted residuals with depthwise convolutions, for three input channels.",
      {
          Field("num_classes", &T::num_classes, AtLeast(1), "outputs of the last layer"),
          Field("dropout", &T::dropout, AtLeast(0) & Below(1), "share of values set to 0 before the last layer"),
      });
  return table;
}

std::vector<ConfigNode> LayersOf(const MobileNetV2Config& config, const Place& place) {
  return MobileNetLayers(place).Make(config);
}

}  // namespace tenon

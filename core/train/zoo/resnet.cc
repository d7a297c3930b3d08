// Residual networks (He et al. 2015) with the layer names, the order of strides (in the 3x3 of a bottleneck) and the initial
// weights of torchvision: convolutions normal with deviation sqrt(2 / (out channels * kernel elements)).
#include "core/train/zoo/resnet.h"

#include <cmath>

#include "core/train/zoo/layer_list.h"

namespace tenon {
namespace {

template <class T>
ConfigTable TableOf() {
  std::int64_t T::*classes = &T::num_classes;
  ResNetStem T::*stem = &T::stem;
  return Table<T>("Residual network.",
                  {
                      Field("num_classes", classes, AtLeast(1), "outputs of the last layer"),
                      Field("stem", stem, "7x7 with a pool (imagenet) or 3x3 (cifar) at the start"),
                  });
}

class ResNetLayers {
 public:
  ResNetLayers(const Place& place, bool bottleneck) : layers_(place), bottleneck_(bottleneck) {}

  std::vector<ConfigNode> Make(const ResNetConfig& config, const std::vector<int>& blocks) {
    if (config.stem == ResNetStem::kImageNet) {
      ConvNorm("conv1", "bn1", "input", 64, 7, 2);
      layers_.Add("relu", {{"name", "relu"}});
      layers_.Add("max_pool", {{"name", "maxpool"}, {"kernel", 3}, {"stride", 2}, {"pad", 1}});
      top_ = "maxpool";
    } else {
      ConvNorm("conv1", "bn1", "input", 64, 3, 1);
      layers_.Add("relu", {{"name", "relu"}});
      top_ = "relu";
    }
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      const std::int64_t width = std::int64_t{64} << stage;
      for (int i = 0; i < blocks[stage]; ++i)
        Block(fmt::format("layer{}.{}.", stage + 1, i), width, stage > 0 && i == 0 ? 2 : 1);
    }
    layers_.Add("global_average_pool", {{"name", "avgpool"}});
    layers_.Add("flatten", {{"name", "flatten"}});
    layers_.Add("linear", {{"name", "fc"}, {"out", config.num_classes}});
    return layers_.Take();
  }

 private:
  void ConvNorm(const std::string& conv, const std::string& norm, const std::string& input, std::int64_t out,
                std::int64_t kernel, std::int64_t stride) {
    layers_.Add("conv", {{"name", conv},
                         {"input", input},
                         {"out", out},
                         {"kernel", kernel},
                         {"stride", stride},
                         {"pad", kernel / 2},
                         {"bias", false},
                         {"init", InitNode("normal", std::sqrt(2.0 / static_cast<double>(out * kernel * kernel)))}});
    layers_.Add("batch_norm", {{"name", norm}});
  }

  // Two 3x3, or 1x1, 3x3, 1x1 to four times the width; the input is added, through a 1x1 where its shape differs.
  void Block(const std::string& prefix, std::int64_t width, std::int64_t stride) {
    const std::string input = top_;
    const std::int64_t out = bottleneck_ ? 4 * width : width;
    const auto conv_norm = [&](int number, const std::string& from, std::int64_t channels, std::int64_t kernel,
                               std::int64_t step) {
      ConvNorm(fmt::format("{}conv{}", prefix, number), fmt::format("{}bn{}", prefix, number), from, channels, kernel,
               step);
    };
    const auto relu = [&](int number) {
      layers_.Add("relu", {{"name", fmt::format("{}relu{}", prefix, number)}});
      return fmt::format("{}relu{}", prefix, number);
    };
    if (bottleneck_) {
      conv_norm(1, input, width, 1, 1);
      conv_norm(2, relu(1), width, 3, stride);
      conv_norm(3, relu(2), out, 1, 1);
    } else {
      conv_norm(1, input, width, 3, stride);
      conv_norm(2, relu(1), width, 3, 1);
    }
    std::string shortcut = input;
    if (stride != 1 || channels_ != out) {
      shortcut = prefix + "downsample.1";
      ConvNorm(prefix + "downsample.0", shortcut, input, out, 1, stride);
    }
    const std::vector<std::string> terms = {fmt::format("{}bn{}", prefix, bottleneck_ ? 3 : 2), shortcut};
    layers_.Add("add", {{"name", prefix + "add"}, {"input", terms}});
    top_ = relu(bottleneck_ ? 3 : 2);
    channels_ = out;
  }

  LayerList layers_;
  const bool bottleneck_;
  std::string top_;             // the layer that the next block reads
  std::int64_t channels_ = 64;  // of it
};

}  // namespace

std::vector<std::string> ConfigNamesOf(ResNetStem) { return {"imagenet", "cifar"}; }

const ConfigTable& ConfigTableOf(const ResNet18Config*) {
  static const ConfigTable table = TableOf<ResNet18Config>();
  return table;
}
const ConfigTable& ConfigTableOf(const ResNet34Config*) {
  static const ConfigTable table = TableOf<ResNet34Config>();
  return table;
}
const ConfigTable& ConfigTableOf(const ResNet50Config*) {
  static const ConfigTable table = TableOf<ResNet50Config>();
  return table;
}

std::vector<ConfigNode> LayersOf(const ResNet18Config& config, const Place& place) {
  return ResNetLayers(place, false).Make(config, {2, 2, 2, 2});
}
std::vector<ConfigNode> LayersOf(const ResNet34Config& config, const Place& place) {
  return ResNetLayers(place, false).Make(config, {3, 4, 6, 3});
}
std::vector<ConfigNode> LayersOf(const ResNet50Config& config, const Place& place) {
  return ResNetLayers(place, true).Make(config, {3, 4, 6, 3});
}

}  // namespace tenon

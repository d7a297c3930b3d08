#include "core/train/zoo/lenet5.h"

#include "core/train/zoo/layer_list.h"

namespace tenon {

const ConfigTable& ConfigTableOf(const LeNet5Config*) {
  using T = LeNet5Config;
  static const ConfigTable table =
      Table<T>("Two convolutions with pooling, three linear layers.",
               {
                   Field("num_classes", &T::num_classes, AtLeast(1), "outputs of the last layer"),
               });
  return table;
}

// conv 6 5x5 pad 2, max pool 2, conv 16 5x5, max pool 2, linear 120, 84, classes, Relu between (LeCun et al. 1998, with
// Relu and max pooling).
std::vector<ConfigNode> LayersOf(const LeNet5Config& config, const Place& place) {
  LayerList layers(place);
  layers.Add("conv", {{"out", 6}, {"kernel", 5}, {"pad", 2}});
  layers.Add("relu");
  layers.Add("max_pool", {{"kernel", 2}});
  layers.Add("conv", {{"out", 16}, {"kernel", 5}});
  layers.Add("relu");
  layers.Add("max_pool", {{"kernel", 2}});
  layers.Add("flatten");
  layers.Add("linear", {{"out", 120}});
  layers.Add("relu");
  layers.Add("linear", {{"out", 84}});
  layers.Add("relu");
  layers.Add("linear", {{"out", config.num_classes}});
  return layers.Take();
}

}  // namespace tenon

#include "core/train/zoo/mlp.h"

#include "core/train/zoo/layer_list.h"

namespace tenon {

const ConfigTable& ConfigTableOf(const MlpConfig*) {
  using T = MlpConfig;
  static const ConfigTable table =
      Table<T>("Linear layers with Relu between them.",
               {
                   Field("hidden", &T::hidden, AtLeast(1), "widths of the hidden layers"),
                   Field("num_classes", &T::num_classes, AtLeast(1), "outputs of the last layer"),
               });
  return table;
}

std::vector<ConfigNode> LayersOf(const MlpConfig& config, const Place& place) {
  LayerList layers(place);
  layers.Add("flatten");
  for (const std::int64_t width : config.hidden) {
    layers.Add("linear", {{"out", width}});
    layers.Add("relu");
  }
  layers.Add("linear", {{"out", config.num_classes}});
  return layers.Take();
}

}  // namespace tenon

#include "core/train/zoo/transformer_encoder.h"

#include "core/train/zoo/layer_list.h"

namespace tenon {

const ConfigTable& ConfigTableOf(const TransformerEncoderConfig*) {
  using T = TransformerEncoderConfig;
  static const ConfigTable table = Table<T>(
      "Transformer blocks over a sequence, as torch.nn.TransformerEncoder; the mean over the sequence is classified.",
      {
          Field("vocab", &T::vocab, AtLeast(0), "samples are token numbers below it; 0: vectors [length, numbers]"),
          Field("width", &T::width, AtLeast(1), "numbers a position"),
          Field("layers", &T::layers, AtLeast(1), "transformer blocks"),
          Field("heads", &T::heads, AtLeast(1), "attention heads of a block; they divide the width"),
          Field("hidden", &T::hidden, AtLeast(0),
                "width between the linear layers of a block; 0: four times the width"),
          Field("num_classes", &T::num_classes, AtLeast(1), "outputs of the last layer"),
          Field("position", &T::position, OneOf({"learned", "sinusoidal"}), "vectors that tell the places apart"),
          Field("activation", &T::activation, OneOf({"relu", "gelu", "gelu_tanh"}), "between the linear layers"),
          Field("norm_first", &T::norm_first,
                "layer norm before each branch, and once at the end; else after each sum"),
          Field("dropout", &T::dropout, AtLeast(0) & Below(1), "share of values set to 0 in training"),
      });
  return table;
}

std::vector<ConfigNode> LayersOf(const TransformerEncoderConfig& config, const Place& place) {
  LayerList layers(place);
  if (config.vocab > 0) {
    layers.Add("embedding", {{"rows", config.vocab}, {"dim", config.width}});
  } else {
    layers.Add("linear", {{"out", config.width}});
  }
  layers.Add("position", {{"type", config.position}});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers.Add("transformer_block", {{"heads", config.heads},
                                     {"hidden", config.hidden},
                                     {"activation", config.activation},
                                     {"norm_first", config.norm_first},
                                     {"dropout", config.dropout}});
  }
  if (config.norm_first) layers.Add("layer_norm");
  layers.Add("reduce_mean", {{"axes", std::vector<std::int64_t>{1}}});
  layers.Add("linear", {{"out", config.num_classes}});
  return layers.Take();
}

}  // namespace tenon

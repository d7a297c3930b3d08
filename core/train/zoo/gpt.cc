#include "core/train/zoo/gpt.h"

#include <cmath>

#include "core/train/zoo/layer_list.h"

namespace tenon {

const ConfigTable& ConfigTableOf(const GptConfig*) {
  using T = GptConfig;
  static const ConfigTable table =
      Table<T>("A decoder as GPT-2: causal transformer blocks that give scores of the next token at every position.",
               {
                   Field("vocab", &T::vocab, AtLeast(1), "tokens are below it"),
                   Field("width", &T::width, AtLeast(1), "numbers a position"),
                   Field("layers", &T::layers, AtLeast(1), "transformer blocks"),
                   Field("heads", &T::heads, AtLeast(1), "attention heads of a block; they divide the width"),
                   Field("hidden", &T::hidden, AtLeast(0),
                         "width between the linear layers of a block; 0: four times the width"),
                   Field("dropout", &T::dropout, AtLeast(0) & Below(1), "share of values set to 0 in training"),
                   Field("tied", &T::tied, "the last product uses the table of the embedding"),
               });
  return table;
}

// Weights start normal with deviation 0.02, those that end a branch with 0.02 / sqrt(2 layers) (Radford et al. 2019, 2.3).
std::vector<ConfigNode> LayersOf(const GptConfig& config, const Place& place) {
  const ConfigNode init = InitNode("normal", 0.02);
  const ConfigNode ends = InitNode("normal", 0.02 / std::sqrt(2.0 * static_cast<double>(config.layers)));
  LayerList layers(place);
  layers.Add("embedding", {{"rows", config.vocab},
                           {"dim", config.width},
                           {"init", init},
                           {"outputs", std::vector<std::string>{"tokens", "table"}}});
  layers.Add("position", {{"init", init}});
  if (config.dropout > 0) layers.Add("dropout", {{"ratio", config.dropout}});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers.Add("transformer_block", {{"heads", config.heads},
                                     {"hidden", config.hidden},
                                     {"activation", "gelu_tanh"},
                                     {"causal", true},
                                     {"dropout", config.dropout},
                                     {"init", init},
                                     {"init_residual", ends}});
  }
  layers.Add("layer_norm", {{"name", "final_norm"}});
  if (config.tied) {
    layers.Add("tied_linear", {{"input", std::vector<std::string>{"final_norm", "table"}}});
  } else {
    layers.Add("linear", {{"out", config.vocab}, {"bias", false}, {"init", init}});
  }
  return layers.Take();
}

}  // namespace tenon

#include "core/train/layer_reference.h"

#include "core/config/schema.h"
#include "core/train/layer.h"

namespace tenon {
namespace {

// The keys that all layers have.
const ConfigTable& CommonKeys() {
  static const ConfigTable table = Table<LayerKeys>("Keys of every layer.", LayerFields<LayerKeys>({}));
  return table;
}

std::string InputsText(int inputs) {
  if (inputs < 0) return "any number of inputs";
  if (inputs == 0) return "no input";
  return inputs == 1 ? "one input" : fmt::format("{} inputs", inputs);
}

}  // namespace

ConfigType LayerEntryType() {
  ConfigType entry = {.kind = ConfigType::Kind::kCustom, .spelling = "layers"};
  for (const LayerKind& kind : LayerKinds()) entry.variants.emplace_back(kind.name, kind.table);
  return entry;
}

std::string LayersMarkdown() {
  std::string out = R"(# Layers

This page is written by `tenon config schema --layers`; a test compares the two.

`network.layers` is a list. An entry is a map of one key, `{conv: {out: 6, kernel: 5}}`, or the bare name of a layer that needs
no key, `relu`. A layer reads the one before it; `input:` names other values, and several where it takes several.
Parameters are called `<layer>.weight`, `<layer>.bias` and so on, and start as in PyTorch unless `init:` says otherwise.

```yaml
network:
  layers:
    - {conv: {out: 16, kernel: 3, pad: 1, name: first}}
    - {batch_norm: {}}
    - relu
    - {conv: {out: 16, kernel: 3, pad: 1}}
    - {add: {input: [conv2, first]}}
    - global_average_pool
    - flatten
    - {linear: {out: 10}}
```

## Every layer

)";
  out += KeysMarkdown(CommonKeys());
  for (const LayerKind& kind : LayerKinds()) {
    out += fmt::format("\n## `{}`\n\n{} Takes {}.\n", kind.name, kind.table->sentence, InputsText(kind.inputs));
    if (kind.table->fields.size() > CommonKeys().fields.size()) out += "\n" + KeysMarkdown(*kind.table, &CommonKeys());
  }
  return out;
}

}  // namespace tenon

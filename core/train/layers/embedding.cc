// embedding: row `id` of a table [rows, dim] for each whole number of the input; starts normal with deviation 1. The
// table is its second output.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Embedding : LayerKeys {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  InitChoice init;
};

const ConfigTable& ConfigTableOf(const Embedding*) {
  static const ConfigTable table = Table<Embedding>(
      "A row of a table for each whole number.",
      LayerFields<Embedding>({
          Field("rows", &Embedding::rows, AtLeast(1) & Required(), "how many different numbers there are"),
          Field("dim", &Embedding::dim, AtLeast(1) & Required(), "numbers in a row"),
          Field("init", &Embedding::init, "how the table starts"),
      }));
  return table;
}

LayerResult Build(LayerBuilder& builder, const Embedding& embedding) {
  TENON_INVALID_IF(!IsInteger(builder.type(0).dtype), "An embedding layer needs whole numbers; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const graph::ValueId table, builder.Parameter("weight", Shape{embedding.rows, embedding.dim},
                                                             embedding.init.choice.value_or(Initializer::Normal(1.0))));
  TENON_ASSIGN(auto outputs, builder.Op("Gather", {table, builder.inputs[0]}, {{"axis", std::int64_t{0}}}));
  outputs.push_back(table);
  return outputs;
}

}  // namespace

std::vector<LayerKind> EmbeddingLayers() { return {MakeLayerKind<Embedding>("embedding", 1, Build)}; }

}  // namespace tenon

// position: adds a vector per place in the sequence. learned: a trained table [length, width], normal with deviation 0.02.
// Where samples differ in length the table has a row for each place of the longest; a shorter batch uses its first rows.
// sinusoidal: sin and cos of place / 10000^(2 i / width) at features 2 i and 2 i + 1 (Vaswani et al. 2017, 3.5).
#include <algorithm>
#include <cmath>

#include "core/train/layer.h"

namespace tenon {
namespace {

struct Position : LayerKeys {
  std::string type = "learned";
  InitChoice init;
};

void CheckPosition(const ConfigNode& node, Position& position, ConfigReader& reader) {
  if (position.type == "learned" || !position.init.choice) return;
  reader.Fail(node.Find("init")->place(), "'{}' is for learned positions; sinusoidal ones are not trained.",
              reader.PathTo("init"));
}

const ConfigTable& ConfigTableOf(const Position*) {
  static const ConfigTable table = Table<Position>(
      "A vector per place in the sequence, added to it.",
      LayerFields<Position>({
          Field("type", &Position::type, OneOf({"learned", "sinusoidal"}), "where the vectors come from"),
          Field("init", &Position::init, "how learned vectors start"),
      }),
      CheckPosition);
  return table;
}

Tensor Waves(std::int64_t length, std::int64_t width) {
  Tensor table(DType::kF32, Shape{length, width});
  for (std::int64_t place = 0; place < length; ++place) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double rate = std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(width));
      const double angle = static_cast<double>(place) * rate;
      table.data<float>()[place * width + i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Result<graph::ValueId> LearnedRows(LayerBuilder& builder, const InitChoice& init, std::int64_t length,
                                   std::int64_t width) {
  const std::int64_t rows = std::max(length, builder.longest);
  TENON_ASSIGN(const graph::ValueId table,
               builder.Parameter("weight", Shape{rows, width}, init.choice.value_or(Initializer::Normal(0.02))));
  if (rows == length) return table;
  const std::int64_t first[] = {0}, end[] = {length};
  TENON_ASSIGN(const auto front,
               builder.Op("Slice", {table, builder.Ints("first", first), builder.Ints("length", end)}, {}, 1, "rows"));
  return front[0];
}

LayerResult Build(LayerBuilder& builder, const Position& position) {
  TENON_INVALID_IF(builder.type(0).shape.rank() != 3,
                   "A position layer needs an input [batch, length, width]; its input is {}.",
                   builder.type(0).ToString());
  TENON_ASSIGN(const std::int64_t length, builder.KnownDim(1));
  TENON_ASSIGN(const std::int64_t width, builder.KnownDim(2));
  graph::ValueId table = graph::kNone;
  if (position.type == "learned") {
    TENON_ASSIGN(table, LearnedRows(builder, position.init, length, width));
  } else {
    table = builder.graph.AddConstant(builder.name + ".waves", Waves(length, width));
  }
  return builder.Op("Add", {builder.inputs[0], table});
}

}  // namespace

std::vector<LayerKind> PositionLayers() { return {MakeLayerKind<Position>("position", 1, Build)}; }

}  // namespace tenon

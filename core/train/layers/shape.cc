// flatten, reshape, transpose, concat, split.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Flatten : LayerKeys {};
struct Reshape : LayerKeys {
  std::vector<std::int64_t> shape;
};
struct Transpose : LayerKeys {
  std::vector<std::int64_t> perm;
};
struct Concat : LayerKeys {
  std::int64_t axis = 1;
};
struct Split : LayerKeys {
  std::int64_t axis = 1;
  std::int64_t parts = 0;
};

const ConfigTable& ConfigTableOf(const Flatten*) {
  static const ConfigTable table = Table<Flatten>("All axes but the batch become one.", LayerFields<Flatten>({}));
  return table;
}
const ConfigTable& ConfigTableOf(const Reshape*) {
  static const ConfigTable table = Table<Reshape>(
      "Other dims, the same values.", LayerFields<Reshape>({
                                          Field("shape", &Reshape::shape, AtLeast(-1) & Required(),
                                                "dims, the batch included; 0 copies a dim, one -1 is the rest"),
                                      }));
  return table;
}
const ConfigTable& ConfigTableOf(const Transpose*) {
  static const ConfigTable table =
      Table<Transpose>("Axes in another order.",
                       LayerFields<Transpose>({
                           Field("perm", &Transpose::perm, AtLeast(0) & Required(), "input axis of each output axis"),
                       }));
  return table;
}
const ConfigTable& ConfigTableOf(const Concat*) {
  static const ConfigTable table = Table<Concat>("Inputs one after the other along an axis.",
                                                 LayerFields<Concat>({
                                                     Field("axis", &Concat::axis, "the axis; negative: from the end"),
                                                 }));
  return table;
}

const ConfigTable& ConfigTableOf(const Split*) {
  static const ConfigTable table =
      Table<Split>("Pieces of the input along an axis; `outputs` names them, and the layer after it reads the first.",
                   LayerFields<Split>({
                       Field("axis", &Split::axis, "the axis; negative: from the end"),
                       Field("parts", &Split::parts, Between(1, 1000000) & Required(),
                             "how many, of equal size; the last one is smaller where the axis does not divide"),
                   }));
  return table;
}

LayerResult BuildFlatten(LayerBuilder& builder, const Flatten&) {
  return builder.Op("Flatten", {builder.inputs[0]}, {{"axis", std::int64_t{1}}});
}
LayerResult BuildReshape(LayerBuilder& builder, const Reshape& layer) {
  return builder.Op("Reshape", {builder.inputs[0], builder.Ints("dims", layer.shape)});
}
LayerResult BuildTranspose(LayerBuilder& builder, const Transpose& layer) {
  return builder.Op("Transpose", {builder.inputs[0]}, {{"perm", layer.perm}});
}
LayerResult BuildConcat(LayerBuilder& builder, const Concat& layer) {
  return builder.Node("", "Concat", builder.inputs, {{"axis", layer.axis}});
}
LayerResult BuildSplit(LayerBuilder& builder, const Split& layer) {
  return builder.Op("Split", {builder.inputs[0]}, {{"axis", layer.axis}, {"num_outputs", layer.parts}},
                    static_cast<int>(layer.parts));
}

}  // namespace

std::vector<LayerKind> ShapeLayers() {
  return {MakeLayerKind<Flatten>("flatten", 1, BuildFlatten), MakeLayerKind<Reshape>("reshape", 1, BuildReshape),
          MakeLayerKind<Transpose>("transpose", 1, BuildTranspose), MakeLayerKind<Concat>("concat", -1, BuildConcat),
          MakeLayerKind<Split>("split", 1, BuildSplit)};
}

}  // namespace tenon

// add, sub, mul, div of two inputs; reduce_mean.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Binary : LayerKeys {};
struct ReduceMean : LayerKeys {
  std::vector<std::int64_t> axes;
  bool keep_dims = false;
};

const ConfigTable& ConfigTableOf(const Binary*) {
  static const ConfigTable table =
      Table<Binary>("Elementwise over two inputs, which may broadcast.", LayerFields<Binary>({}));
  return table;
}
const ConfigTable& ConfigTableOf(const ReduceMean*) {
  static const ConfigTable table = Table<ReduceMean>(
      "The mean over some axes.",
      LayerFields<ReduceMean>({
          Field("axes", &ReduceMean::axes, Required() & Count(1, 8), "the axes; negative: from the end"),
          Field("keep_dims", &ReduceMean::keep_dims, "leave each axis as a dim of 1"),
      }));
  return table;
}

template <const char* kOp>
LayerResult BuildBinary(LayerBuilder& builder, const Binary&) {
  return builder.Op(kOp, {builder.inputs[0], builder.inputs[1]});
}
constexpr char kAdd[] = "Add", kSub[] = "Sub", kMul[] = "Mul", kDiv[] = "Div";

LayerResult BuildMean(LayerBuilder& builder, const ReduceMean& layer) {
  return builder.Op("ReduceMean", {builder.inputs[0], builder.Ints("axes", layer.axes)},
                    {{"keepdims", std::int64_t{layer.keep_dims ? 1 : 0}}});
}

}  // namespace

std::vector<LayerKind> ArithmeticLayers() {
  return {MakeLayerKind<Binary>("add", 2, BuildBinary<kAdd>), MakeLayerKind<Binary>("sub", 2, BuildBinary<kSub>),
          MakeLayerKind<Binary>("mul", 2, BuildBinary<kMul>), MakeLayerKind<Binary>("div", 2, BuildBinary<kDiv>),
          MakeLayerKind<ReduceMean>("reduce_mean", 1, BuildMean)};
}

}  // namespace tenon

// relu, leaky_relu, sigmoid, tanh, gelu, softmax, dropout.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Plain : LayerKeys {};
struct LeakyRelu : LayerKeys {
  double alpha = 0.01;
};
struct Gelu : LayerKeys {
  std::string approximate = "none";
};
struct Softmax : LayerKeys {
  std::int64_t axis = -1;
};
struct Dropout : LayerKeys {
  double ratio = 0.5;
};

const ConfigTable& ConfigTableOf(const Plain*) {
  static const ConfigTable table = Table<Plain>("An activation without options.", LayerFields<Plain>({}));
  return table;
}
const ConfigTable& ConfigTableOf(const LeakyRelu*) {
  static const ConfigTable table =
      Table<LeakyRelu>("x, or alpha x below 0.", LayerFields<LeakyRelu>({
                                                     Field("alpha", &LeakyRelu::alpha, "slope below 0"),
                                                 }));
  return table;
}
const ConfigTable& ConfigTableOf(const Gelu*) {
  static const ConfigTable table = Table<Gelu>("x times the share of a normal distribution below it.",
                                               LayerFields<Gelu>({
                                                   Field("approximate", &Gelu::approximate, OneOf({"none", "tanh"}),
                                                         "none: exact; tanh: by a hyperbolic tangent"),
                                               }));
  return table;
}
const ConfigTable& ConfigTableOf(const Softmax*) {
  static const ConfigTable table = Table<Softmax>("Shares that sum to 1 along an axis.",
                                                  LayerFields<Softmax>({
                                                      Field("axis", &Softmax::axis, "the axis; negative: from the end"),
                                                  }));
  return table;
}
const ConfigTable& ConfigTableOf(const Dropout*) {
  static const ConfigTable table =
      Table<Dropout>("Sets values to 0 by chance in training; nothing in inference.",
                     LayerFields<Dropout>({
                         Field("ratio", &Dropout::ratio, AtLeast(0) & Below(1), "share of values set to 0"),
                     }));
  return table;
}

template <const char* kOp>
LayerResult BuildPlain(LayerBuilder& builder, const Plain&) {
  return builder.Op(kOp, {builder.inputs[0]});
}
constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh";

LayerResult BuildLeaky(LayerBuilder& builder, const LeakyRelu& layer) {
  return builder.Op("LeakyRelu", {builder.inputs[0]}, {{"alpha", layer.alpha}});
}
LayerResult BuildGelu(LayerBuilder& builder, const Gelu& layer) {
  return builder.Op("Gelu", {builder.inputs[0]}, {{"approximate", layer.approximate}});
}
LayerResult BuildSoftmax(LayerBuilder& builder, const Softmax& layer) {
  return builder.Op("Softmax", {builder.inputs[0]}, {{"axis", layer.axis}});
}
LayerResult BuildDropout(LayerBuilder& builder, const Dropout& layer) {
  if (!builder.training || layer.ratio == 0) return std::vector<graph::ValueId>{builder.inputs[0]};
  const graph::ValueId ratio =
      builder.graph.AddConstant(builder.name + ".ratio", Tensor::Scalar(static_cast<float>(layer.ratio)));
  const graph::ValueId on = builder.graph.AddConstant(builder.name + ".training", Tensor::Scalar(true));
  return builder.Op("Dropout", {builder.inputs[0], ratio, on});
}

}  // namespace

std::vector<LayerKind> ActivationLayers() {
  return {MakeLayerKind<Plain>("relu", 1, BuildPlain<kRelu>),
          MakeLayerKind<LeakyRelu>("leaky_relu", 1, BuildLeaky),
          MakeLayerKind<Plain>("sigmoid", 1, BuildPlain<kSigmoid>),
          MakeLayerKind<Plain>("tanh", 1, BuildPlain<kTanh>),
          MakeLayerKind<Gelu>("gelu", 1, BuildGelu),
          MakeLayerKind<Softmax>("softmax", 1, BuildSoftmax),
          MakeLayerKind<Dropout>("dropout", 1, BuildDropout)};
}

}  // namespace tenon

// relu, leaky_relu, prelu, elu, sigmoid, hard_sigmoid, tanh, gelu, swish, hard_swish, softplus, clip, softmax, dropout.
#include "core/train/layer.h"

namespace tenon {
namespace {

struct Plain : LayerKeys {};
struct LeakyRelu : LayerKeys {
  double alpha = 0.01;
};
struct PRelu : LayerKeys {
  bool per_channel = false;
  InitChoice init;
};
struct Elu : LayerKeys {
  double alpha = 1.0;
};
struct HardSigmoid : LayerKeys {
  double alpha = 0.2;
  double beta = 0.5;
};
struct Gelu : LayerKeys {
  std::string approximate = "none";
};
struct Swish : LayerKeys {
  double alpha = 1.0;
};
struct Clip : LayerKeys {
  std::optional<double> min, max;
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
const ConfigTable& ConfigTableOf(const PRelu*) {
  static const ConfigTable table =
      Table<PRelu>("x, or weight times x below 0, with a trained weight.",
                   LayerFields<PRelu>({
                       Field("per_channel", &PRelu::per_channel, "a weight for each channel (axis 1), not one for all"),
                       Field("init", &PRelu::init, "how the weight starts; absent: 0.25"),
                   }));
  return table;
}
const ConfigTable& ConfigTableOf(const Elu*) {
  static const ConfigTable table =
      Table<Elu>("x, or alpha (exp(x) - 1) below 0.", LayerFields<Elu>({
                                                          Field("alpha", &Elu::alpha, "the bound below is -alpha"),
                                                      }));
  return table;
}
const ConfigTable& ConfigTableOf(const HardSigmoid*) {
  static const ConfigTable table =
      Table<HardSigmoid>("alpha x + beta, kept between 0 and 1.", LayerFields<HardSigmoid>({
                                                                      Field("alpha", &HardSigmoid::alpha, "slope"),
                                                                      Field("beta", &HardSigmoid::beta, "value at 0"),
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
const ConfigTable& ConfigTableOf(const Swish*) {
  static const ConfigTable table =
      Table<Swish>("x times the sigmoid of alpha x.", LayerFields<Swish>({
                                                          Field("alpha", &Swish::alpha, "factor within the sigmoid"),
                                                      }));
  return table;
}
const ConfigTable& ConfigTableOf(const Clip*) {
  static const ConfigTable table =
      Table<Clip>("Values kept between two bounds.", LayerFields<Clip>({
                                                         Field("min", &Clip::min, "lower bound; absent: none"),
                                                         Field("max", &Clip::max, "upper bound; absent: none"),
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
constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kHardSwish[] = "HardSwish",
               kSoftplus[] = "Softplus";

LayerResult BuildLeaky(LayerBuilder& builder, const LeakyRelu& layer) {
  return builder.Op("LeakyRelu", {builder.inputs[0]}, {{"alpha", layer.alpha}});
}
// The weight is [channels] as in other tools; behind it come axes of 1, so that it broadcasts along axis 1.
LayerResult BuildPRelu(LayerBuilder& builder, const PRelu& layer) {
  const int rank = builder.type(0).shape.rank();
  TENON_INVALID_IF(layer.per_channel && rank < 2,
                   "A prelu layer per channel needs an input [batch, channels, ...]; its input is {}.",
                   builder.type(0).ToString());
  std::int64_t count = 1;
  if (layer.per_channel) {
    TENON_ASSIGN(count, builder.KnownDim(1));
  }
  TENON_ASSIGN(graph::ValueId weight,
               builder.Parameter("weight", Shape{count}, layer.init.choice.value_or(Initializer::Constant(0.25))));
  if (layer.per_channel && rank > 2) {
    std::vector<std::int64_t> axes;
    for (int axis = 1; axis < rank - 1; ++axis) axes.push_back(axis);
    TENON_ASSIGN(const auto spread, builder.Op("Unsqueeze", {weight, builder.Ints("axes", axes)}, {}, 1, "slope"));
    weight = spread[0];
  }
  return builder.Op("PRelu", {builder.inputs[0], weight});
}
LayerResult BuildElu(LayerBuilder& builder, const Elu& layer) {
  return builder.Op("Elu", {builder.inputs[0]}, {{"alpha", layer.alpha}});
}
LayerResult BuildHardSigmoid(LayerBuilder& builder, const HardSigmoid& layer) {
  return builder.Op("HardSigmoid", {builder.inputs[0]}, {{"alpha", layer.alpha}, {"beta", layer.beta}});
}
LayerResult BuildGelu(LayerBuilder& builder, const Gelu& layer) {
  return builder.Op("Gelu", {builder.inputs[0]}, {{"approximate", layer.approximate}});
}
LayerResult BuildSwish(LayerBuilder& builder, const Swish& layer) {
  return builder.Op("Swish", {builder.inputs[0]}, {{"alpha", layer.alpha}});
}
LayerResult BuildClip(LayerBuilder& builder, const Clip& layer) {
  const auto bound = [&](const char* name, const std::optional<double>& value) {
    return value ? builder.graph.AddConstant(fmt::format("{}.{}", builder.name, name),
                                             Tensor::Scalar(static_cast<float>(*value)))
                 : graph::kNone;
  };
  return builder.Op("Clip", {builder.inputs[0], bound("min", layer.min), bound("max", layer.max)});
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
  return {
      MakeLayerKind<Plain>("relu", 1, BuildPlain<kRelu>),
      MakeLayerKind<LeakyRelu>("leaky_relu", 1, BuildLeaky),
      MakeLayerKind<PRelu>("prelu", 1, BuildPRelu),
      MakeLayerKind<Elu>("elu", 1, BuildElu),
      MakeLayerKind<Plain>("sigmoid", 1, BuildPlain<kSigmoid>),
      MakeLayerKind<HardSigmoid>("hard_sigmoid", 1, BuildHardSigmoid),
      MakeLayerKind<Plain>("tanh", 1, BuildPlain<kTanh>),
      MakeLayerKind<Gelu>("gelu", 1, BuildGelu),
      MakeLayerKind<Swish>("swish", 1, BuildSwish),
      MakeLayerKind<Plain>("hard_swish", 1, BuildPlain<kHardSwish>),
      MakeLayerKind<Plain>("softplus", 1, BuildPlain<kSoftplus>),
      MakeLayerKind<Clip>("clip", 1, BuildClip),
      MakeLayerKind<Softmax>("softmax", 1, BuildSoftmax),
      MakeLayerKind<Dropout>("dropout", 1, BuildDropout),
  };
}

}  // namespace tenon

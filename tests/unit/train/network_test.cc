// Networks from their layers: names, inputs, parameters and where errors point.
#include "core/train/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/train/loss.h"

namespace tenon {
namespace {

Result<Network> Make(const std::string& layers) {
  auto tree =
      LoadConfigText("data: {type: synthetic, samples: 8, classes: 4, image: {shape: [1, 2, 4]}}\nnetwork: {layers: [" +
                         layers + "]}\n",
                     "run.yaml", ".");
  if (!tree.ok()) return tree.status();
  auto config = ReadRunConfig(*tree);
  if (!config.ok()) return config.status();
  return Network::Make(config->network);
}

struct Built {
  graph::Graph graph;
  Network::Build build;
  Status status;
};

Built Build(const std::string& layers, const Shape& input, bool training = true, DType dtype = DType::kF32) {
  Built built;
  auto network = Make(layers);
  if (!network.ok()) {
    built.status = network.status();
    return built;
  }
  const graph::ValueId x = built.graph.AddInput("input", {dtype, SymShape(input)});
  auto build = network->AddTo(built.graph, x, training);
  if (build.ok()) built.build = *build;
  built.status = build.ok() ? Status() : build.status();
  return built;
}

std::vector<std::string> Names(const Built& built) {
  std::vector<std::string> names;
  for (const auto& entry : built.build.initial) names.push_back(entry.first);
  return names;
}

std::string OutputType(const Built& built) {
  return built.status.ok() ? built.graph.value(built.build.output).type.ToString() : built.status.ToString();
}

TEST(Network, NamesLayersByKindAndNumber) {
  const Built built = Build("flatten, {linear: {out: 4}}, relu, {linear: {out: 2}}", Shape{3, 2, 2});
  EXPECT_EQ(Names(built),
            (std::vector<std::string>{"linear1.bias", "linear1.weight", "linear2.bias", "linear2.weight"}));
  EXPECT_EQ(OutputType(built), "f32[3,2]");
}

TEST(Network, ShapesOfEachKind) {
  EXPECT_EQ(OutputType(Build("{conv: {out: 6, kernel: 3, stride: 2, pad: 1}}", Shape{2, 3, 9, 9})), "f32[2,6,5,5]");
  EXPECT_EQ(OutputType(Build("{conv: {out: 4, kernel: [3], group: 2, bias: false}}", Shape{2, 2, 9})), "f32[2,4,7]");
  EXPECT_EQ(OutputType(Build("{conv: {out: 4, kernel: [1, 3], dilation: [1, 2]}}", Shape{2, 2, 5, 9})), "f32[2,4,5,5]");
  EXPECT_EQ(
      OutputType(Build("{conv_transpose: {out: 6, kernel: 3, stride: 2, pad: 1, output_pad: 1}}", Shape{2, 3, 5, 5})),
      "f32[2,6,10,10]");
  EXPECT_EQ(OutputType(Build("{group_norm: {groups: 3}}, instance_norm, layer_norm, rms_norm", Shape{2, 6, 5, 4})),
            "f32[2,6,5,4]");
  EXPECT_EQ(
      OutputType(Build("{prelu: {per_channel: true}}, prelu, elu, hard_sigmoid, gelu, swish, hard_swish, softplus, "
                       "{clip: {max: 6}}, clip",
                       Shape{2, 6, 5, 4})),
      "f32[2,6,5,4]");
  EXPECT_EQ(OutputType(Build("{max_pool: {kernel: 3, stride: 2}}", Shape{2, 3, 9, 9})), "f32[2,3,4,4]");
  EXPECT_EQ(OutputType(Build("{average_pool: {kernel: 2}}", Shape{2, 3, 8, 8})), "f32[2,3,4,4]");
  EXPECT_EQ(OutputType(Build("global_average_pool", Shape{2, 3, 8, 8})), "f32[2,3,1,1]");
  EXPECT_EQ(OutputType(Build("{linear: {out: 5}}", Shape{2, 7, 8})), "f32[2,7,5]");
  EXPECT_EQ(OutputType(Build("{reshape: {shape: [0, -1, 4]}}", Shape{2, 3, 8})), "f32[2,6,4]");
  EXPECT_EQ(OutputType(Build("{transpose: {perm: [0, 2, 1]}}", Shape{2, 3, 8})), "f32[2,8,3]");
  EXPECT_EQ(OutputType(Build("{concat: {input: [input, input], axis: -1}}", Shape{2, 3})), "f32[2,6]");
  EXPECT_EQ(OutputType(Build("{reduce_mean: {axes: [-1], keep_dims: true}}", Shape{2, 3})), "f32[2,1]");
  EXPECT_EQ(OutputType(Build("{embedding: {rows: 9, dim: 5}}", Shape{2, 3}, true, DType::kI64)), "f32[2,3,5]");
  EXPECT_EQ(OutputType(Build("{parameter: {shape: [3, 1], name: p}}, {mul: {input: [input, p]}}", Shape{2, 3, 4})),
            "f32[2,3,4]");
  EXPECT_EQ(OutputType(Build("{op: {type: LeakyRelu, attrs: {alpha: 0.3}}}", Shape{2, 3})), "f32[2,3]");
}

TEST(Network, ParametersStartAsInPyTorch) {
  const Built built = Build("{conv: {out: 6, kernel: 5}}, batch_norm, flatten, {linear: {out: 3}}", Shape{2, 2, 6, 6});
  ASSERT_TRUE(built.status.ok()) << built.status.ToString();
  const auto& initial = built.build.initial;
  EXPECT_NEAR(initial.at("conv1.weight").init.value, 1 / std::sqrt(50.0), 1e-12);
  EXPECT_NEAR(initial.at("conv1.bias").init.value, 1 / std::sqrt(50.0), 1e-12);
  EXPECT_NEAR(initial.at("linear1.weight").init.value, 1 / std::sqrt(24.0), 1e-12);
  EXPECT_EQ(initial.at("batch_norm1.weight").init.value, 1);
  EXPECT_EQ(initial.at("batch_norm1.running_var").init.value, 1);
  EXPECT_EQ(initial.at("conv1.weight").shape, (Shape{6, 2, 5, 5}));
  EXPECT_EQ(built.build.parameters.size(), 6U);  // running statistics are not trained
}

TEST(Network, NormalisationsAndSlopesStartAsInPyTorch) {
  const Built built =
      Build("{group_norm: {groups: 2}}, {prelu: {per_channel: true}}, {conv_transpose: {out: 6, kernel: 2}}",
            Shape{2, 4, 3, 3});
  ASSERT_TRUE(built.status.ok()) << built.status.ToString();
  const auto& initial = built.build.initial;
  EXPECT_EQ(initial.at("group_norm1.weight").init.value, 1);
  EXPECT_EQ(initial.at("group_norm1.bias").shape, (Shape{4}));
  EXPECT_EQ(initial.at("prelu1.weight").init.value, 0.25);
  EXPECT_EQ(initial.at("prelu1.weight").shape, (Shape{4}));
  EXPECT_EQ(initial.at("conv_transpose1.weight").shape, (Shape{4, 6, 2, 2}));
  EXPECT_NEAR(initial.at("conv_transpose1.weight").init.value, 1 / std::sqrt(24.0), 1e-12);
}

TEST(Network, GroupsMustDivideTheChannels) {
  EXPECT_NE(
      OutputType(Build("{group_norm: {groups: 4}}", Shape{2, 6, 3})).find("groups (4) must divide the channels (6)."),
      std::string::npos);
}

TEST(Network, ALayerMoreLeavesTheOtherValuesAlone) {
  const Built small = Build("{linear: {out: 4, name: a}}, {linear: {out: 2, name: b}}", Shape{2, 3});
  const Built large =
      Build("{linear: {out: 4, name: a}}, {linear: {out: 4, name: between}}, {linear: {out: 2, name: b}}", Shape{2, 3});
  for (const char* name : {"a.weight", "b.weight"}) {
    const auto x = MakeInitial(small.build.initial.at(name), 5, name),
               y = MakeInitial(large.build.initial.at(name), 5, name);
    ASSERT_TRUE(x.ok() && y.ok());
    EXPECT_TRUE(std::equal(x->values<float>().begin(), x->values<float>().end(), y->values<float>().begin())) << name;
  }
}

TEST(Network, InferenceHasNoDropoutAndNoUpdates) {
  const Built training = Build("{dropout: {ratio: 0.5}}, batch_norm", Shape{4, 3}),
              inference = Build("{dropout: {ratio: 0.5}}, batch_norm", Shape{4, 3}, false);
  EXPECT_EQ(training.graph.LiveNodes().size(), 2U);
  EXPECT_EQ(training.graph.updates.size(), 2U);
  EXPECT_EQ(inference.graph.LiveNodes().size(), 1U);
  EXPECT_TRUE(inference.graph.updates.empty());
}

TEST(Network, ErrorsNameLayerPlaceAndShapes) {
  const Status status =
      Build("flatten, {linear: {out: 6, name: a}}, {linear: {out: 5, name: b}}, {add: {input: [a, b], name: sum}}",
            Shape{2, 8})
          .status;
  ASSERT_FALSE(status.ok());
  const std::string text = status.ToString();
  EXPECT_EQ(text.rfind("run.yaml:2:", 0), 0U) << text;
  for (const char* part : {"[2,6]", "[2,5]", "'sum'"}) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Network, AllProblemsOfTheListAreTold) {
  const auto network = Make("{conv: {out: 4, kernal: 3}}, {linaer: {out: 2}}, {dropout: {ratio: 2}}");
  ASSERT_FALSE(network.ok());
  const std::string text = network.status().ToString();
  for (const char* part : {"'kernel'", "'linear'", "dropout.ratio"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Network, NamesAreOneLine) {
  const auto network =
      Make("{linear: {out: 4, name: \"a\\nb\"}}, {linear: {out: 4, name: a b}}, {relu: {outputs: [x, \"y\\t\"]}}");
  ASSERT_FALSE(network.ok());
  EXPECT_EQ(
      network.status().ToString(),
      "run.yaml:2:44: error: 'network.layers.0.linear.name' holds a line break or another control character.\n"
      "run.yaml:2:106: error: 'network.layers.2.relu.outputs.1' holds a line break or another control character.");
}

TEST(Loss, ColumnsAgainstValues) {
  Built built = Build("{linear: {out: 1}}", Shape{4, 3});
  const graph::ValueId labels = built.graph.AddInput("labels", {DType::kF32, SymShape(Shape{4})});
  const auto loss = AddLoss(MseConfig{}, built.graph, built.build.output, labels);
  ASSERT_TRUE(loss.ok()) << loss.status().ToString();
  EXPECT_EQ(built.graph.value(*loss).type.ToString(), "f32[]");
}

TEST(Loss, ClassLossesTakeTheirKeys) {
  SoftmaxCrossEntropyConfig smooth;
  smooth.label_smoothing = 0.1;
  smooth.ignore_index = 0;
  smooth.class_weights = {1, 2};
  Built built = Build("{linear: {out: 2}}", Shape{4, 3});
  const graph::ValueId labels = built.graph.AddInput("labels", {DType::kI64, SymShape(Shape{4})});
  const auto loss = AddLoss(smooth, built.graph, built.build.output, labels);
  ASSERT_TRUE(loss.ok()) << loss.status().ToString();
  const graph::Node& node = built.graph.node(built.graph.value(*loss).producer);
  EXPECT_EQ(node.attrs.Float("label_smoothing"), 0.1);
  EXPECT_EQ(node.attrs.Int("ignore_index"), 0);
  EXPECT_EQ(node.inputs.size(), 3U);
  smooth.class_weights = {1, 2, 3};
  const auto wrong = AddLoss(smooth, built.graph, built.build.output, labels);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().ToString().find("weights has shape [3]; scores [4,2] need [2]."), std::string::npos)
      << wrong.status().ToString();
}

TEST(Loss, AnotherShapeIsRefused) {
  Built built = Build("{linear: {out: 2}}", Shape{4, 3});
  const graph::ValueId labels = built.graph.AddInput("labels", {DType::kF32, SymShape(Shape{4})});
  const auto loss = AddLoss(MseConfig{}, built.graph, built.build.output, labels);
  ASSERT_FALSE(loss.ok());
  EXPECT_NE(loss.status().ToString().find("f32[4,2]"), std::string::npos) << loss.status().ToString();
  EXPECT_FALSE(AddLoss(SoftmaxCrossEntropyConfig{}, built.graph, built.build.output, labels).ok());
}

}  // namespace
}  // namespace tenon

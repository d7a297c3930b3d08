// The residual networks of the zoo follow PyTorch: counts of parameters, all gradients of the first step, losses of 20 steps. Expected
// values: residual_expected.h, written by tests/e2e/peer/residual_steps.py; the counts are those of torchvision's
// documentation. Gradients agree to 1e-5, or to three times the distance of PyTorch's own float32 where that is larger: in
// deep networks some activations lie so near 0 that float32 and float64 put them on different sides of Relu. Losses agree to
// three times the largest distance up to the step of PyTorch's float32 from float64 and of two threads from one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/e2e/residual_expected.h"
#include "tests/e2e/training_fixture.h"

namespace tenon {
namespace {

double Formula(std::size_t i, std::size_t k) {
  const auto x = static_cast<double>(i);
  return static_cast<double>(static_cast<float>(std::sin(0.7 * x * x + 1.3 * x + static_cast<double>(k))));
}

Batch MakeBatch(std::int64_t count, std::int64_t size, std::int64_t step) {
  Batch batch;
  batch.count = count;
  batch.samples = Tensor(DType::kF32, Shape{count, 3, size, size});
  batch.labels = Tensor(DType::kI64, Shape{count});
  FillByFormula(batch.samples, static_cast<double>(step), 1, 0);
  for (std::int64_t i = 0; i < count; ++i) batch.labels.data<std::int64_t>()[i] = (3 * i + step) % 10;
  return batch;
}

// Momentum SGD: after the first step the momentum is the gradient. Distances are relative to the norm, or to `least` where
// that is larger: what stands before a normalisation may have no gradient at all.
void CheckGradient(TrainingFixture& fixture, const ResidualGradient& want, std::size_t k, double tolerance,
                   double least) {
  const std::vector<double> gradient = fixture.Values(std::string("moments.") + want.parameter);
  double squares = 0, product = 0, lengths = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double direction = Formula(i, k);
    squares += gradient[i] * gradient[i];
    product += gradient[i] * direction;
    lengths += direction * direction;
  }
  const double bound = tolerance * std::max(want.norm, least);
  EXPECT_NEAR(std::sqrt(squares), want.norm, bound) << want.parameter;
  EXPECT_NEAR(product, want.product, bound * std::sqrt(lengths)) << want.parameter;
}

template <std::size_t kSteps>
void FollowPyTorch(const std::string& network, std::int64_t size, const std::vector<ResidualGradient>& gradients,
                   double float32_distance, const double (&losses)[kSteps], const double (&loss_distance)[kSteps]) {
  TrainingFixture fixture("network: " + network + "\noptimizer: {type: sgd, lr: 0.01, momentum: 0.9}\n",
                          Shape{3, size, size});
  fixture.Check(fixture.runner().Prepare(MakeBatch(6, size, 0)));
  std::vector<std::string> names = fixture.runner().ParameterNames();
  std::erase_if(names, [](const std::string& name) { return name.find(".running_") != std::string::npos; });
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), gradients.size());
  double least = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    ASSERT_EQ(names[k], gradients[k].parameter);
    const Shape shape = fixture.runner().variables().Find(names[k])->shape;
    const bool last = names[k].rfind("fc", 0) == 0 || names[k].rfind("classifier", 0) == 0;
    const bool norm = !last && shape.rank() == 1 && names[k].ends_with("weight");
    const double scale =
        shape.rank() == 1 ? 0.2 : 2 / std::sqrt(static_cast<double>(shape.elements()) / static_cast<double>(shape[0]));
    fixture.SetByFormula(names[k], static_cast<double>(k), scale, norm ? 1.0 : 0.0);
    least = std::max(least, 1e-4 * gradients[k].norm);
  }
  for (std::size_t step = 0; step < kSteps; ++step) {
    const auto number = static_cast<std::int64_t>(step);
    const auto loss = fixture.runner().Train(MakeBatch(6, size, number), 0.01, number);
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    EXPECT_NEAR(*loss, losses[step], 3 * std::max(1e-5, loss_distance[step]) * std::max(1.0, losses[step]))
        << "step " << step;
    if (step > 0) continue;
    for (std::size_t k = 0; k < names.size(); ++k)
      CheckGradient(fixture, gradients[k], k, std::max(1e-5, 3 * float32_distance), least);
  }
}

TEST(ResidualSteps, ResNet18) {
  FollowPyTorch("{zoo: resnet18, args: {num_classes: 10, stem: cifar}}", 8, kResNet18Gradients, kResNet18Float32,
                kResNet18Losses, kResNet18LossFloat32);
}

TEST(ResidualSteps, ResNet34) {
  FollowPyTorch("{zoo: resnet34, args: {num_classes: 10, stem: cifar}}", 8, kResNet34Gradients, kResNet34Float32,
                kResNet34Losses, kResNet34LossFloat32);
}

TEST(ResidualSteps, ResNet50) {
  FollowPyTorch("{zoo: resnet50, args: {num_classes: 10}}", 64, kResNet50Gradients, kResNet50Float32, kResNet50Losses,
                kResNet50LossFloat32);
}

TEST(ResidualSteps, MobileNetV2) {
  FollowPyTorch("{zoo: mobilenet_v2, args: {num_classes: 10, dropout: 0}}", 64, kMobileNetV2Gradients,
                kMobileNetV2Float32, kMobileNetV2Losses, kMobileNetV2LossFloat32);
}

std::int64_t CountParameters(const std::string& zoo) {
  const auto tree = LoadConfigText(
      "data: {type: synthetic, samples: 8, classes: 4, image: {shape: [3, 64, 64]}}\nnetwork: {zoo: " + zoo + "}\n",
      "run.yaml", ".");
  const auto config = ReadRunConfig(*tree);
  const auto network = Network::Make(config->network);
  graph::Graph graph;
  const graph::ValueId x = graph.AddInput("input", {DType::kF32, SymShape(Shape{2, 3, 64, 64})});
  const auto build = network->AddTo(graph, x, true);
  EXPECT_TRUE(build.ok()) << build.status().ToString();
  std::int64_t count = 0;
  for (const graph::ValueId id : build->parameters) count += graph.value(id).type.shape.Concrete().elements();
  return count;
}

TEST(ResidualNetworks, HaveAsManyParametersAsInTorchvision) {
  EXPECT_EQ(CountParameters("resnet18"), 11689512);
  EXPECT_EQ(CountParameters("resnet34"), 21797672);
  EXPECT_EQ(CountParameters("resnet50"), 25557032);
  EXPECT_EQ(CountParameters("mobilenet_v2"), 3504872);
}

}  // namespace
}  // namespace tenon

// The transformer networks of the zoo follow PyTorch: all gradients of the first step to 1e-5, losses of 20 steps. Expected
// values: transformer_expected.h, written by tests/e2e/peer/transformer_steps.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/e2e/training_fixture.h"
#include "tests/e2e/transformer_expected.h"

namespace tenon {
namespace {

struct Sequences {
  std::int64_t batch, length, vocab, classes;  // classes 0: the label is the next token
};

SampleLayout LayoutOf(const Sequences& data) {
  SampleLayout layout;
  layout.shape = Shape{data.length};
  layout.dtype = DType::kI64;
  if (data.classes == 0) layout.label_shape = layout.shape;
  return layout;
}

Batch MakeBatch(const Sequences& data, std::int64_t step) {
  Batch batch;
  batch.count = data.batch;
  batch.samples = Tensor(DType::kI64, Shape{data.batch, data.length});
  batch.labels = Tensor(DType::kI64, data.classes > 0 ? Shape{data.batch} : Shape{data.batch, data.length});
  for (std::int64_t b = 0; b < data.batch; ++b) {
    for (std::int64_t t = 0; t < data.length; ++t) {
      const std::int64_t at = b * data.length + t;
      batch.samples.data<std::int64_t>()[at] = (7 * t * t + 3 * t + 5 * b + step) % data.vocab;
      if (data.classes == 0) batch.labels.data<std::int64_t>()[at] = (3 * t + b + step) % data.vocab;
    }
    if (data.classes > 0) batch.labels.data<std::int64_t>()[b] = (b + 2 * step) % data.classes;
  }
  return batch;
}

double Formula(std::size_t i, std::size_t k) {
  const auto x = static_cast<double>(i);
  return std::sin(0.7 * x * x + 1.3 * x + static_cast<double>(k));
}

// Momentum SGD: after the first step the momentum is the gradient.
void CheckGradient(TrainingFixture& fixture, const ExpectedGradient& want, std::size_t k) {
  const std::vector<double> gradient = fixture.Values(std::string("moments.") + want.parameter);
  double squares = 0, product = 0, lengths = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    squares += gradient[i] * gradient[i];
    product += gradient[i] * static_cast<double>(static_cast<float>(Formula(i, k)));
    lengths += Formula(i, k) * Formula(i, k);
  }
  const double bound = 1e-5 * want.norm;
  EXPECT_NEAR(std::sqrt(squares), want.norm, bound) << want.parameter;
  EXPECT_NEAR(product, want.product, bound * std::sqrt(lengths)) << want.parameter;
  EXPECT_NEAR(gradient.front(), want.first, bound) << want.parameter;
  EXPECT_NEAR(gradient.back(), want.last, bound) << want.parameter;
}

void FollowPyTorch(const std::string& network, const Sequences& data, const std::vector<ExpectedGradient>& gradients,
                   const double (&losses)[20]) {
  TrainingFixture fixture("network: " + network + "\noptimizer: {type: sgd, lr: 0.05, momentum: 0.9}\n",
                          LayoutOf(data));
  fixture.Check(fixture.runner().Prepare(MakeBatch(data, 0)));
  std::vector<std::string> names = fixture.runner().ParameterNames();
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), gradients.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    ASSERT_EQ(names[k], gradients[k].parameter);
    const Shape shape = fixture.runner().variables().Find(names[k])->shape;
    const bool norm = names[k].find("norm") != std::string::npos && names[k].ends_with("weight");
    const double scale = shape.rank() == 1 ? 0.1 : 1.2 / std::sqrt(static_cast<double>(shape[1]));
    fixture.SetByFormula(names[k], static_cast<double>(k), scale, norm ? 1.0 : 0.0);
  }
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto loss = fixture.runner().Train(MakeBatch(data, step), 0.05, step);
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    EXPECT_NEAR(*loss, losses[step], 2e-5 * std::max(1.0, losses[step])) << "step " << step;
    if (step > 0) continue;
    for (std::size_t k = 0; k < names.size(); ++k) CheckGradient(fixture, gradients[k], k);
  }
}

TEST(TransformerSteps, EncoderWithNormsFirst) {
  FollowPyTorch("{zoo: transformer_encoder, args: {vocab: 11, width: 16, layers: 2, heads: 2, num_classes: 5}}",
                {3, 7, 11, 5}, kPreNormGradients, kPreNormLosses);
}

TEST(TransformerSteps, EncoderWithNormsAfterTheSums) {
  FollowPyTorch(
      "{zoo: transformer_encoder, args: {vocab: 11, width: 16, layers: 2, heads: 2, num_classes: 5, norm_first: "
      "false, activation: relu}}",
      {3, 7, 11, 5}, kPostNormGradients, kPostNormLosses);
}

TEST(TransformerSteps, Gpt) {
  FollowPyTorch("{zoo: gpt, args: {vocab: 13, width: 16, layers: 2, heads: 4}}", {2, 9, 13, 0}, kGptGradients,
                kGptLosses);
}

}  // namespace
}  // namespace tenon

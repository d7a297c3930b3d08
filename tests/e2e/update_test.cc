// What happens between gradients and weights: clipping, groups, frozen parameters, sums over several batches, averages and
// recomputation, in both modes. Expected values follow from the definitions, with one step of plain gradient descent
// (w' = w - rate * g) as the way to see a gradient.
#include <gtest/gtest.h>

#include "tests/e2e/step_session.h"

namespace tenon {
namespace {

using Values = std::map<std::string, std::vector<double>>;

class Update : public testing::TestWithParam<const char*> {
 protected:
  // 40 samples in one batch, unless `data` says otherwise.
  std::string Sections(const std::string& more, const std::string& data = "batch: 40") const {
    return "mode: " + std::string(GetParam()) +
           "\ndata: {type: synthetic, samples: 50, classes: 4, image: {shape: [2, 8, 8]}, split: {test: every_5}, "
           "shuffle: false, " +
           data + R"(}
network:
  layers:
    - conv: {out: 6, kernel: 3, name: first}
    - relu
    - conv: {out: 8, kernel: 3, name: second}
    - relu
    - flatten
    - linear: {out: 4, name: head}
)" + more;
  }
  // Changes of all variables by one epoch of steps with rate 1.
  Values Change(const std::string& sections) const {
    StepSession session(sections);
    session.Prepare();
    Values change = session.Values();
    session.TrainEpochs(1, 1.0);
    for (const auto& after : session.Values()) {
      std::vector<double>& difference = change[after.first];
      for (std::size_t i = 0; i < after.second.size(); ++i) difference[i] = after.second[i] - difference[i];
    }
    return change;
  }
  static double Norm(const Values& values) {
    double sum = 0;
    for (const auto& value : values) {
      for (const double x : value.second) sum += x * x;
    }
    return std::sqrt(sum);
  }
  // got = factor * expected, for one variable.
  static void ExpectScaled(const Values& got, const Values& expected, const std::string& name, double factor) {
    const auto &a = got.at(name), &b = expected.at(name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], factor * b[i], 2e-7) << name << " at " << i;
  }
};

TEST_P(Update, ClippingByNormScalesAllGradientsAlike) {
  const Values plain = Change(Sections("optimizer: sgd"));
  const double norm = Norm(plain), limit = 0.25 * norm;
  const Values clipped = Change(Sections("optimizer: sgd\ntrain: {clip_norm: " + std::to_string(limit) + "}"));
  EXPECT_NEAR(Norm(clipped), limit, 1e-5 * limit);
  for (const auto& value : plain) ExpectScaled(clipped, plain, value.first, limit / norm);
  StepSession session(Sections("optimizer: sgd\ntrain: {clip_norm: " + std::to_string(2 * norm) + "}"));
  session.TrainEpochs(1, 1.0);
  EXPECT_NEAR(*session.runner().GradientNorm(), norm, 1e-4 * norm);
  const Values unlimited = Change(Sections("optimizer: sgd\ntrain: {clip_norm: " + std::to_string(2 * norm) + "}"));
  for (const auto& value : plain) ExpectScaled(unlimited, plain, value.first, 1);
}

TEST_P(Update, ClippingByValueBoundsEachNumber) {
  const Values plain = Change(Sections("optimizer: sgd"));
  const Values clipped = Change(Sections("optimizer: sgd\ntrain: {clip_value: 0.01}"));
  int bounded = 0;
  for (const auto& value : plain) {
    for (std::size_t i = 0; i < value.second.size(); ++i) {
      const double expected = std::clamp(value.second[i], -0.01, 0.01);
      bounded += std::abs(value.second[i]) > 0.01 ? 1 : 0;
      EXPECT_NEAR(clipped.at(value.first)[i], expected, 2e-7) << value.first;
    }
  }
  EXPECT_GT(bounded, 10);
}

TEST_P(Update, FrozenParametersHaveNeitherGradientNorState) {
  const std::string adam = "optimizer: adam\n";
  const Values plain = Change(Sections(adam)), frozen = Change(Sections(adam + "train: {freeze: [first.*]}"));
  for (const double x : frozen.at("first.weight")) EXPECT_EQ(x, 0);
  for (const double x : frozen.at("first.bias")) EXPECT_EQ(x, 0);
  EXPECT_EQ(frozen.count("moment1.first.weight"), 0U);
  EXPECT_EQ(frozen.count("moment1.second.weight"), 1U);
  ExpectScaled(frozen, plain, "head.weight", 1);
  // One convolution's weight gradient less.
  const std::string plain_nodes = "passes: {disabled: [fuse_before_autodiff, fuse_after_autodiff]}\n";
  StepSession all(Sections(adam + plain_nodes)), part(Sections(adam + plain_nodes + "train: {freeze: [first.*]}"));
  all.TrainEpochs(1, 0.1);
  part.TrainEpochs(1, 0.1);
  const auto count = [](const RunSummary& summary) {
    const auto found = summary.kernels.find("tenon.ConvWeightGrad");
    return found == summary.kernels.end() ? 0 : found->second.fast + found->second.reference;
  };
  EXPECT_EQ(count(part.Summary()), 1);
  EXPECT_EQ(count(all.Summary()), 2);
}

TEST_P(Update, GroupsHaveTheirOwnRateAndDecay) {
  const Values plain = Change(Sections("optimizer: {type: sgd}"));
  const Values groups = Change(
      Sections("optimizer: {type: sgd, weight_decay: 0.5, groups: [{match: '*.bias', lr_scale: 0.5, weight_decay: 0}, "
               "{match: 'head.*', weight_decay: 0}, {match: 'second.weight', lr_scale: 0}]}"));
  for (const char* name : {"first.bias", "second.bias", "head.bias"}) ExpectScaled(groups, plain, name, 0.5);
  ExpectScaled(groups, plain, "head.weight", 1);
  for (const double x : groups.at("second.weight")) EXPECT_EQ(x, 0);
  StepSession first(Sections("optimizer: sgd"));
  first.Prepare();
  const Values weights = first.Values();
  for (std::size_t i = 0; i < weights.at("first.weight").size(); ++i)
    EXPECT_NEAR(groups.at("first.weight")[i], plain.at("first.weight")[i] - 0.5 * weights.at("first.weight")[i], 2e-7);
}

TEST_P(Update, BiasAndNormCanBeLeftOutOfTheDecay) {
  const Values plain = Change(Sections("optimizer: sgd"));
  const Values decay = Change(Sections("optimizer: {type: sgd, weight_decay: 0.5, decay_bias_and_norm: false}"));
  for (const char* name : {"first.bias", "second.bias", "head.bias"}) ExpectScaled(decay, plain, name, 1);
  EXPECT_GT(std::abs(decay.at("head.weight")[0] - plain.at("head.weight")[0]), 1e-5);
}

// 40 samples as 4 batches of 10, and as 12 + 12 + 12 + 4: in both cases the gradient of the whole.
TEST_P(Update, BatchesOfAStepAreOneLargeBatch) {
  for (const char* optimizer : {"optimizer: {type: sgd, momentum: 0.9}", "optimizer: adamw"}) {
    StepSession whole(Sections(optimizer));
    const std::vector<double> losses = whole.TrainEpochs(6, 0.02);
    const Values expected = whole.Values();
    for (const char* parts : {"batch: 10", "batch: 12"}) {
      StepSession session(Sections(std::string(optimizer) + "\ntrain: {accumulate: 4}", parts));
      const std::vector<double> got = session.TrainEpochs(6, 0.02);
      ASSERT_EQ(got.size(), losses.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], losses[i], 1e-5 * losses[i]) << parts;
      for (const auto& value : session.Values()) {
        const auto& want = expected.at(value.first);
        for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(value.second[i], want[i], 1e-5) << value.first;
      }
    }
  }
}

// The last step of an epoch has fewer batches, and the last of them fewer samples: 3 x 10 + 10 against 30 + 10.
TEST_P(Update, ALastStepWithFewerBatchesHasTheRightWeights) {
  const std::string optimizer = "optimizer: {type: sgd, momentum: 0.9}\n";
  for (const auto& [large, small, count] :
       {std::tuple("batch: 30", "batch: 10", 3), std::tuple("batch: 24", "batch: 6", 4),
        std::tuple("batch: 28", "batch: 7", 4)}) {
    StepSession whole(Sections(optimizer, large));
    StepSession parts(Sections(optimizer + "train: {accumulate: " + std::to_string(count) + "}", small));
    whole.TrainEpochs(4, 0.02);
    parts.TrainEpochs(4, 0.02);
    const Values expected = whole.Values();
    for (const auto& value : parts.Values()) {
      const auto& want = expected.at(value.first);
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(value.second[i], want[i], 1e-5) << small;
    }
  }
}

TEST_P(Update, ClippingSeesTheSumOfTheBatches) {
  const std::string optimizer = "optimizer: sgd\n";
  StepSession whole(Sections(optimizer + "train: {clip_norm: 0.05}"));
  StepSession parts(Sections(optimizer + "train: {clip_norm: 0.05, accumulate: 4}", "batch: 10"));
  whole.TrainEpochs(3, 0.5);
  parts.TrainEpochs(3, 0.5);
  EXPECT_NEAR(*parts.runner().GradientNorm(), *whole.runner().GradientNorm(), 1e-5);
  const Values expected = whole.Values();
  for (const auto& value : parts.Values()) {
    for (std::size_t i = 0; i < value.second.size(); ++i)
      EXPECT_NEAR(value.second[i], expected.at(value.first)[i], 1e-5);
  }
}

// a' = 0.9 a + 0.1 w after every step, beginning with the first weights.
TEST_P(Update, AveragesFollowTheirFormulaAndAreEvaluated) {
  StepSession session(Sections("optimizer: sgd\ntrain: {ema: 0.9, freeze: [first.bias]}"));
  session.Prepare();
  Values average = session.Values();
  EXPECT_EQ(average.count("ema.first.bias"), 0U);
  EXPECT_EQ(average.at("ema.head.weight"), average.at("head.weight"));
  for (int step = 0; step < 5; ++step) {
    session.TrainEpochs(1, 0.3);
    const Values now = session.Values();
    for (const char* name : {"first.weight", "second.weight", "second.bias", "head.weight", "head.bias"}) {
      auto& a = average.at(name);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = 0.9 * a[i] + 0.1 * now.at(name)[i];
        EXPECT_NEAR(now.at(std::string("ema.") + name)[i], a[i], 1e-6) << name;
      }
    }
  }
  const double averaged = session.EvaluateTestLoss();
  StepSession plain(Sections("optimizer: sgd"));
  plain.Prepare();
  const double before = plain.EvaluateTestLoss();
  for (const auto& value : session.Values()) {
    if (!value.first.starts_with("ema.")) continue;
    const std::string name = value.first.substr(4);
    ASSERT_TRUE(plain.runner().variables().Set(name, session.runner().variables().Get(value.first).value()).ok());
  }
  EXPECT_NE(averaged, before);
  EXPECT_EQ(averaged, plain.EvaluateTestLoss());
}

INSTANTIATE_TEST_SUITE_P(Modes, Update, testing::Values("graph", "pynative"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace tenon

// Every loss and the layers and optimiser that go with them, as a user trains with them: regression on float targets from
// CSV and NPY, losses against classes and values, in both modes.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::RunCase;
using testing_support::ToolResult;
using testing_support::WriteFile;

constexpr const char* kClasses =
    "data: {type: synthetic, samples: 60, classes: 3, image: {shape: [2, 6, 6]}, batch: 10}\ntrain: {epochs: 4}\n";

// Losses of the epochs.
std::vector<double> Losses(const RunCase& run, const std::vector<std::string>& settings = {}) {
  const ToolResult result = run.Train(settings);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto summary = run.Summary();
  if (!summary.is_object() || !summary.contains("train_loss")) return {};
  return summary.at("train_loss").get<std::vector<double>>();
}

// The loss falls, and both modes agree on it.
void ExpectTrains(const std::string& sections) {
  const RunCase run(sections);
  const auto graph = Losses(run), eager = Losses(run, {"mode=pynative"});
  ASSERT_FALSE(graph.empty()) << sections;
  EXPECT_LT(graph.back(), graph.front()) << sections;
  ASSERT_EQ(graph.size(), eager.size());
  for (std::size_t i = 0; i < graph.size(); ++i) EXPECT_NEAR(graph[i], eager[i], 1e-5 * (1 + graph[i])) << sections;
}

// Points in [-1, 1)^2, on a lattice that never repeats, and two targets that are linear in them.
struct Plane {
  double a, b;
  double first() const { return 0.5 * a - 1.5 * b + 0.75; }
  double second() const { return 2 * b - 1; }
};
Plane PlaneAt(int i) {
  const auto part = [](double x) { return 2 * (x - std::floor(x)) - 1; };
  return {part(0.618034 * i), part(0.754878 * i)};
}

TEST(Regression, FitsValuesFromCsv) {
  const RunCase run(
      "data: {type: csv, path: plane.csv, batch: 20, split: {test: every_5}}\n"
      "network: {layers: [{linear: {out: 1}}]}\nloss: mse\noptimizer: {type: sgd, lr: 0.2, momentum: 0.5}\n"
      "schedule: {type: constant}\ntrain: {epochs: 30}\n");
  std::string rows = "a,b,target\n";
  for (int i = 0; i < 200; ++i) rows += fmt::format("{},{},{}\n", PlaneAt(i).a, PlaneAt(i).b, PlaneAt(i).first());
  WriteFile(run.folder() / "plane.csv", rows);
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const ToolResult result = run.Train({mode});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_LT(run.Summary().at("test_loss").get<double>(), 1e-8) << mode;
    EXPECT_TRUE(run.Summary().at("test_accuracy").is_null()) << "values have no accuracy";
  }
}

std::string NpyOf(const std::vector<float>& values, std::size_t columns) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", values.size() / columns, columns);
  header.resize(118 - 1, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return file;
}

TEST(Regression, FitsSeveralValuesFromNpy) {
  const RunCase run(
      "data: {type: npy, path: points.npy, labels: targets.npy, batch: 20, split: {test: every_5}}\n"
      "network: {layers: [{linear: {out: 2}}]}\nloss: mse\noptimizer: {type: adam, lr: 0.1}\n"
      "schedule: {type: cosine}\ntrain: {epochs: 40}\n");
  std::vector<float> points, targets;
  for (int i = 0; i < 200; ++i) {
    const Plane plane = PlaneAt(i);
    points.insert(points.end(), {static_cast<float>(plane.a), static_cast<float>(plane.b)});
    targets.insert(targets.end(), {static_cast<float>(plane.first()), static_cast<float>(plane.second())});
  }
  WriteFile(run.folder() / "points.npy", NpyOf(points, 2));
  WriteFile(run.folder() / "targets.npy", NpyOf(targets, 2));
  const ToolResult result = run.Train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(run.Summary().at("test_loss").get<double>(), 1e-6);
}

TEST(Regression, RefusesValuesThatAreNotFinite) {
  const RunCase run(
      "data: {type: npy, path: points.npy, labels: targets.npy, batch: 2}\n"
      "network: {layers: [{linear: {out: 1}}]}\nloss: mse\ntrain: {epochs: 1}\n");
  WriteFile(run.folder() / "points.npy", NpyOf({1, 2, 3, std::nanf(""), 5, 6, 7, 8}, 2));
  WriteFile(run.folder() / "targets.npy", NpyOf({1, 2, 3, 4}, 1));
  const ToolResult result = run.Train();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("points.npy: error: Element 1 of sample 1 is nan, which is not a finite float32 number."),
            std::string::npos)
      << result.err;
}

TEST(Losses, AgainstClasses) {
  const std::string network = "network: {layers: [flatten, {linear: {out: 8}}, relu, {linear: {out: 3}}]}\n";
  for (const char* loss :
       {"{type: softmax_cross_entropy, label_smoothing: 0.1}", "{type: softmax_cross_entropy, ignore_index: 1}",
        "{type: softmax_cross_entropy, class_weights: [1, 0.5, 2], label_smoothing: 0.2}"})
    ExpectTrains(fmt::format("{}{}loss: {}\n", kClasses, network, loss));
  ExpectTrains(fmt::format(
      "{}network: {{layers: [flatten, {{linear: {{out: 3}}}}, {{op: {{type: LogSoftmax, attrs: {{axis: 1}}}}}}]}}\n"
      "loss: {{type: nll, class_weights: [1, 2, 1]}}\n",
      kClasses));
}

// Rows sorted by class, so that small batches hold one class only: 12 of each of three.
constexpr const char* kSorted =
    "data: {type: csv, path: sorted.csv, batch: 36, shuffle: false, workers: 0, test: {path: sorted.csv}}\n"
    "network: {layers: [{linear: {out: 8}}, tanh, {linear: {out: 3}}]}\n"
    "optimizer: {type: sgd, lr: 0.5, momentum: 0.5}\nschedule: {type: constant}\ntrain: {epochs: 5}\n";

// The test loss and the training loss of the last epoch.
std::pair<double, double> SortedLosses(const std::string& loss, std::vector<std::string> settings) {
  const RunCase run(kSorted);
  std::string rows = "a,b,target\n";
  for (int i = 0; i < 36; ++i) rows += fmt::format("{},{},{}\n", PlaneAt(i).a, PlaneAt(i).b, i / 12);
  WriteFile(run.folder() / "sorted.csv", rows);
  settings.push_back("loss=" + loss);
  const auto losses = Losses(run, settings);
  if (losses.empty()) return {-1, -1};
  return {run.Summary().at("test_loss").get<double>(), losses.back()};
}

constexpr const char* kCounting[] = {"{type: softmax_cross_entropy, class_weights: [0.5, 2, 0.1]}",
                                     "{type: softmax_cross_entropy, ignore_index: 2}",
                                     "{type: softmax_cross_entropy, class_weights: [0, 1, 1]}",
                                     "{type: softmax_cross_entropy, ignore_index: 0, label_smoothing: 0.1}"};

// Batches of 5 hold different counts of each class, and some hold only labels that are ignored.
TEST(Losses, DoNotDependOnTheBatch) {
  for (const char* loss : kCounting) {
    const auto whole = SortedLosses(loss, {"optimizer.lr=0"}),
               parts = SortedLosses(loss, {"optimizer.lr=0", "data.batch=5"});
    EXPECT_NEAR(whole.first, parts.first, 1e-6) << loss;
    EXPECT_NEAR(whole.second, parts.second, 1e-6) << loss;
  }
}

TEST(Losses, AccumulatedGradientsAreThoseOfTheLargeBatch) {
  for (const char* loss : kCounting) {
    const auto whole = SortedLosses(loss, {});
    for (const char* mode : {"mode=graph", "mode=pynative"}) {
      const auto parts = SortedLosses(loss, {"data.batch=5", "train.accumulate=8", mode});
      EXPECT_NEAR(whole.first, parts.first, 2e-6) << loss << mode;
      EXPECT_NEAR(whole.second, parts.second, 2e-6) << loss << mode;
    }
  }
}

// Half of the steps count nothing: they change nothing, and no loss is NaN.
TEST(Losses, IgnoredBatchesCountNothing) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const auto losses = SortedLosses(kCounting[1], {"data.batch=1", "optimizer.lr=0.05", mode});
    EXPECT_GT(losses.first, 0) << mode;
    EXPECT_LT(losses.first, 1.2) << mode;
  }
}

TEST(Losses, AgainstValues) {
  const std::string data =
      "data: {type: synthetic, samples: 60, classes: 3, image: {shape: [2, 6, 6]}, batch: 10, transforms: [one_hot]}\n"
      "network: {layers: [flatten, {linear: {out: 3}}]}\ntrain: {epochs: 4}\n";
  for (const char* loss :
       {"mse", "l1", "{type: smooth_l1, beta: 0.25}", "bce_with_logits", "{type: bce_with_logits, pos_weight: [2]}",
        "{type: bce_with_logits, pos_weight: [1, 2, 3]}"})
    ExpectTrains(fmt::format("{}loss: {}\n", data, loss));
}

// An `op` layer follows its constants in an evaluation too: it drops the same elements in both modes.
TEST(Layers, OperatorsFollowTheirConstantsInEvaluations) {
  const RunCase run(
      "data: {type: synthetic, samples: 48, classes: 3, image: {shape: [2, 6, 6]}, batch: 8, split: {test: 0.5}}\n"
      "network: {layers: [flatten, {op: {type: Dropout, constants: {ratio: {dtype: float32, values: 0.5}, "
      "training_mode: true}}}, {linear: {out: 3}}]}\ntrain: {epochs: 1}\n");
  Losses(run);
  const double dropping = run.Summary().at("test_loss").get<double>();
  Losses(run, {"mode=pynative"});
  EXPECT_NEAR(run.Summary().at("test_loss").get<double>(), dropping, 1e-6);
  Losses(run, {"network.layers.1.op.constants.training_mode=false"});
  EXPECT_GT(std::abs(run.Summary().at("test_loss").get<double>() - dropping), 1e-4);
}

TEST(Losses, LambTrains) {
  ExpectTrains(std::string(kClasses) +
               "network: {layers: [flatten, {linear: {out: 8}}, relu, {linear: {out: 3}}]}\n"
               "optimizer: {type: lamb, lr: 0.02, weight_decay: 0.01}\n");
}

TEST(Layers, ActivationsTrain) {
  for (const char* layer :
       {"prelu", "{prelu: {per_channel: true, init: {constant: 0.1}}}", "{elu: {alpha: 0.5}}", "hard_sigmoid", "gelu",
        "{gelu: {approximate: tanh}}", "{swish: {alpha: 1.5}}", "hard_swish", "softplus", "{clip: {min: -1, max: 6}}"})
    ExpectTrains(
        fmt::format("{}network: {{layers: [{{conv: {{out: 4, kernel: 3}}}}, {}, flatten, {{linear: {{out: 3}}}}]}}\n",
                    kClasses, layer));
}

TEST(Layers, NormalisationsAndTransposedConvolutionTrain) {
  for (const char* layer : {"{group_norm: {groups: 2}}", "instance_norm", "layer_norm", "{rms_norm: {eps: 1e-6}}",
                            "{conv_transpose: {out: 2, kernel: 3, stride: 2, pad: 1, output_pad: 1, group: 2}}"})
    ExpectTrains(
        fmt::format("{}network: {{layers: [{{conv: {{out: 4, kernel: 3}}}}, {}, flatten, {{linear: {{out: 3}}}}]}}\n",
                    kClasses, layer));
}

}  // namespace
}  // namespace tenon

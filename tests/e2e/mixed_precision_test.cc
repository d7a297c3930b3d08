// Training in mixed precision: both modes run the same conversions, and a short run learns what the float32 run learns.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/platform/cpu_features.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

namespace tenon {
namespace {

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, Tensor> parameters;
  std::map<std::string, RunSummary::KernelCount> kernels;
  std::map<std::string, std::int64_t> fusions;
};

Result<Outcome> RunSteps(const RunConfig& config, int steps) {
  TENON_ASSIGN(const Network network, Network::Make(config.network));
  OpenDataOptions data_options;
  data_options.seed = 1;
  TENON_ASSIGN(const DataSource data, OpenData(config.data, data_options));
  TENON_ASSIGN(const std::unique_ptr<exec::Runtime> runtime, exec::Runtime::Open({}));
  StepRunnerOptions options;
  options.config = &config;
  options.layout = data.layout();
  const std::unique_ptr<StepRunner> runner = MakeStepRunner(*runtime, network, options);
  TENON_ASSIGN(const std::unique_ptr<Loader> loader, data.TrainLoader());
  TENON_TRY(loader->Start(0));
  TENON_ASSIGN(const Batch* batch, loader->Next());
  Outcome outcome;
  for (int step = 0; step < steps; ++step) {
    TENON_ASSIGN(const double loss, runner->Train(*batch, LearningRate(config.optimizer), step));
    outcome.losses.push_back(loss);
  }
  for (const std::string& name : runner->ParameterNames()) {
    TENON_ASSIGN(outcome.parameters[name], runner->variables().Get(name));
  }
  RunSummary summary;
  runner->AddTo(summary);
  outcome.kernels = summary.kernels;
  outcome.fusions = summary.fusions;
  return outcome;
}

constexpr const char* kConvolutions =
    "[{conv: {out: 16, kernel: 3, pad: 1}}, batch_norm, relu, {max_pool: {kernel: 2}}, flatten, {linear: {out: 64}}, "
    "tanh, {linear: {out: 10, name: head}}]";
// Without a choice of layouts, so that both modes run the same kernels on the same bits.
constexpr const char* kProducts =
    "[flatten, {linear: {out: 64}}, relu, layer_norm, {linear: {out: 32}}, tanh, {linear: {out: 10, name: head}}]";

// Every fused operator that reaches over the Casts of mixed precision.
constexpr const char* kNorms =
    "[{conv: {out: 16, kernel: 3, pad: 1, name: c1}}, batch_norm, {relu: {name: r1}}, {conv: {out: 16, kernel: 3, pad: "
    "1}}, "
    "{batch_norm: {name: n2}}, {add: {input: [n2, r1]}}, relu, {conv: {out: 8, kernel: 3, pad: 1}}, batch_norm, "
    "flatten, "
    "{linear: {out: 64}}, layer_norm, {linear: {out: 10}}]";
constexpr const char* kNoFusions = "passes: {disabled: [fuse_before_autodiff, fuse_after_autodiff]}\n";

RunConfig Config(const char* network, const std::string& amp, RunMode mode, bool fused = true, bool one_hot = false) {
  std::string text =
      "name: test\ndata: {type: synthetic, samples: 32, classes: 10, batch: 32, image: {shape: [3, 8, 8]}}\n"
      "optimizer: {type: sgd, lr: 0.1, momentum: 0.9}\n";
  if (one_hot) text.insert(text.find("batch:"), "transforms: [one_hot], ");
  text += std::string("network: {layers: ") + network + "}\n";
  if (!amp.empty()) text += "amp: " + amp + "\n";
  if (network == kProducts || !fused) text += kNoFusions;
  const auto tree = LoadConfigText(text, "test", ".");
  EXPECT_TRUE(tree.ok()) << tree.status().ToString();
  auto config = ReadRunConfig(*tree);
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  config->mode = mode;
  return std::move(config).value();
}

class MixedPrecision : public testing::TestWithParam<const char*> {};

TEST_P(MixedPrecision, ModesAgreeBitForBitWithTheSameKernels) {
  const auto graph = RunSteps(Config(kProducts, GetParam(), RunMode::kGraph), 5);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto eager = RunSteps(Config(kProducts, GetParam(), RunMode::kPynative), 5);
  ASSERT_TRUE(eager.ok()) << eager.status().ToString();
  EXPECT_EQ(graph->losses, eager->losses);
  for (const auto& entry : graph->parameters) {
    EXPECT_EQ(entry.second.dtype(), DType::kF32) << entry.first;
    const Tensor& other = eager->parameters.at(entry.first);
    EXPECT_EQ(std::memcmp(entry.second.raw(), other.raw(), static_cast<std::size_t>(other.bytes())), 0) << entry.first;
  }
}

// Against labels that are shares of classes the loss is made of several operators.
TEST_P(MixedPrecision, ALossOfSharesStaysInFloat32) {
  const auto classes = RunSteps(Config(kProducts, GetParam(), RunMode::kGraph), 1);
  ASSERT_TRUE(classes.ok()) << classes.status().ToString();
  for (const RunMode mode : {RunMode::kGraph, RunMode::kPynative}) {
    const auto shares = RunSteps(Config(kProducts, GetParam(), mode, false, true), 1);
    ASSERT_TRUE(shares.ok()) << shares.status().ToString();
    EXPECT_NEAR(shares->losses[0], classes->losses[0], 1e-6 * classes->losses[0]);
  }
}

TEST_P(MixedPrecision, LearnsAsFloat32Does) {
  constexpr int kSteps = 30;
  const auto exact = RunSteps(Config(kConvolutions, "", RunMode::kGraph), kSteps);
  ASSERT_TRUE(exact.ok()) << exact.status().ToString();
  const auto mixed = RunSteps(Config(kConvolutions, GetParam(), RunMode::kGraph), kSteps);
  ASSERT_TRUE(mixed.ok()) << mixed.status().ToString();
  EXPECT_NE(mixed->losses, exact->losses) << "nothing was computed in the shorter type";
  EXPECT_NEAR(mixed->losses[0], exact->losses[0], 0.02 * exact->losses[0]);
  EXPECT_LT(exact->losses.back(), 0.3 * exact->losses[0]);
  EXPECT_LT(mixed->losses.back(), 0.3 * mixed->losses[0]);
}

TEST_P(MixedPrecision, RunsOnFastKernels) {
  const auto mixed = RunSteps(Config(kConvolutions, GetParam(), RunMode::kGraph), 1);
  ASSERT_TRUE(mixed.ok()) << mixed.status().ToString();
  for (const auto& entry : mixed->kernels) EXPECT_EQ(entry.second.reference, 0) << entry.first;
}

// Between two Casts the operators alone would round in the same places: the two runs differ by single roundings.
TEST(MixedFusions, AgreeWithTheOperatorsAlone) {
  for (const char* amp : {"{level: O2}", "{level: O2, dtype: fp16, loss_scale: none}"}) {
    const auto fused = RunSteps(Config(kNorms, amp, RunMode::kGraph), 3);
    ASSERT_TRUE(fused.ok()) << fused.status().ToString();
    const auto plain = RunSteps(Config(kNorms, amp, RunMode::kGraph, false), 3);
    ASSERT_TRUE(plain.ok()) << plain.status().ToString();
    for (const char* name :
         {"batch_norm_relu_mixed", "batch_norm_add_relu_mixed", "batch_norm_mixed", "layer_norm_mixed"})
      EXPECT_EQ(fused->fusions.count(name), 1u) << name << " " << amp;
    EXPECT_TRUE(plain->fusions.empty());
    for (const auto& entry : fused->kernels) EXPECT_EQ(entry.second.reference, 0) << entry.first;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(fused->losses[i], plain->losses[i], 0.02 * plain->losses[i]) << amp;
    for (const auto& entry : fused->parameters) {
      const Tensor& other = plain->parameters.at(entry.first);
      for (std::int64_t i = 0; i < other.elements(); ++i)
        ASSERT_NEAR(entry.second.data<float>()[i], other.data<float>()[i], 0.02) << entry.first << " " << amp;
    }
  }
}

// One step of a network, fused, whose parameters are nearly those of the step of single operators.
Outcome ExpectNearPlain(const char* network) {
  auto fused = RunSteps(Config(network, "bf16", RunMode::kGraph), 1);
  const auto plain = RunSteps(Config(network, "bf16", RunMode::kGraph, false), 1);
  EXPECT_TRUE(fused.ok()) << fused.status().ToString();
  EXPECT_TRUE(plain.ok()) << plain.status().ToString();
  if (!fused.ok() || !plain.ok()) return {};
  EXPECT_NEAR(fused->losses[0], plain->losses[0], 0.002 * plain->losses[0]);
  for (const auto& entry : fused->parameters) {
    const Tensor& other = plain->parameters.at(entry.first);
    for (std::int64_t i = 0; i < other.elements(); ++i)
      EXPECT_NEAR(entry.second.data<float>()[i], other.data<float>()[i], 0.005) << entry.first;
  }
  return *std::move(fused);
}

// The weights and their gradients are not rounded in memory.
TEST(MixedFusions, KeepWeightsOfConvolutionsInFloat32) {
  const auto fused = ExpectNearPlain(
      "[{conv: {out: 16, kernel: 3, pad: 1}}, relu, {conv: {out: 32, kernel: 3, pad: 1}}, relu, "
      "{conv: {out: 32, kernel: 3, pad: 1, bias: false}}, batch_norm, flatten, {linear: {out: 10}}]");
  EXPECT_EQ(fused.fusions.at("conv_mixed"), 1);
  EXPECT_EQ(fused.fusions.at("conv_relu_mixed"), 1);
}

TEST(MixedFusions, KeepWeightsOfStridedConvolutionsInFloat32) {
  const auto fused = ExpectNearPlain(
      "[{conv: {out: 34, kernel: 3, pad: 1}}, relu, {conv: {out: 50, kernel: 3, pad: 1, stride: 2}}, tanh, "
      "{conv: {out: 32, kernel: 1, bias: false}}, batch_norm, flatten, {linear: {out: 10}}]");
  if (!HasCpuFeature("avx512_bf16")) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  EXPECT_EQ(fused.fusions.at("conv_mixed"), 2);
}

// The window is larger than the image: all elements but the middle one lie beside it, and their gradient is zero.
TEST(MixedConvolutions, LeaveWeightsBesideTheImageAsTheyAre) {
  constexpr const char* kNetwork =
      "[{conv: {out: 16, kernel: 8}}, {conv: {out: 32, kernel: 3, stride: 2, pad: 1, name: beside}}, flatten, "
      "{linear: {out: 10}}]";
  for (const RunMode mode : {RunMode::kGraph, RunMode::kPynative}) {
    const auto exact = RunSteps(Config(kNetwork, "", mode), 1), mixed = RunSteps(Config(kNetwork, "bf16", mode), 3);
    ASSERT_TRUE(exact.ok() && mixed.ok()) << mixed.status().ToString();
    const Tensor &before = exact->parameters.at("beside.weight"), &after = mixed->parameters.at("beside.weight");
    for (std::int64_t i = 0; i < before.elements(); ++i)
      ASSERT_EQ(before.data<float>()[i] == after.data<float>()[i], i % 9 != 4) << i;
  }
}

// A runner with its first batch, for steps that a test makes one by one.
class ScaledSteps : public testing::TestWithParam<RunMode> {
 protected:
  void Open(const std::string& amp, const std::string& train = "") {
    runner_.reset();  // before the runtime that it uses
    loader_.reset();
    config_ = Config(kProducts, amp, GetParam());
    if (!train.empty()) config_.train.clip_norm = std::stod(train);
    network_ = Value(Network::Make(config_.network));
    OpenDataOptions data_options;
    data_options.seed = 1;
    data_ = Value(OpenData(config_.data, data_options));
    runtime_ = Value(exec::Runtime::Open({}));
    StepRunnerOptions options;
    options.config = &config_;
    options.layout = data_->layout();
    runner_ = MakeStepRunner(*runtime_, *network_, options);
    loader_ = Value(data_->TrainLoader());
    ASSERT_TRUE(loader_->Start(0).ok());
    batch_ = Value(loader_->Next());
  }

  double Step(const Batch& batch, double scale, std::int64_t step) {
    return Value(runner_->Train(batch, {.learning_rate = 0.1, .step = step, .position = step, .loss_scale = scale}));
  }
  std::vector<Tensor> Parameters() {
    std::vector<Tensor> all;
    for (const std::string& name : runner_->ParameterNames()) all.push_back(Value(runner_->variables().Get(name)));
    return all;
  }
  static void ExpectSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), static_cast<std::size_t>(a[i].bytes())), 0) << "parameter " << i;
  }
  template <class T>
  static T Value(Result<T> result) {
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return std::move(result).value();
  }

  RunConfig config_;
  std::optional<Network> network_;
  std::optional<DataSource> data_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Loader> loader_;
  const Batch* batch_ = nullptr;
};

TEST_P(ScaledSteps, AnyPowerOfTwoGivesTheSameUpdateClippedOrNot) {
  for (const char* clip : {"", "0.1"}) {
    std::vector<std::vector<Tensor>> after;
    for (const double scale : {1.0, 1024.0}) {
      Open("{level: O2, loss_scale: dynamic}", clip);
      for (int step = 0; step < 3; ++step) Step(*batch_, scale, step);
      EXPECT_FALSE(runner_->overflowed());
      after.push_back(Parameters());
    }
    ExpectSame(after[0], after[1]);
  }
}

TEST_P(ScaledSteps, AnOverflowLeavesTheParametersAlone) {
  Open("fp16");
  Step(*batch_, 8, 0);
  const std::vector<Tensor> before = Parameters();
  Step(*batch_, 1e30, 1);
  EXPECT_TRUE(runner_->overflowed());
  ExpectSame(before, Parameters());
  Batch bad = *batch_;
  bad.samples = Tensor(batch_->samples.dtype(), batch_->samples.shape());
  for (float& value : bad.samples.values<float>()) value = NAN;
  EXPECT_TRUE(std::isnan(Step(bad, 8, 1)));
  EXPECT_TRUE(runner_->overflowed());
  ExpectSame(before, Parameters());
  Step(*batch_, 8, 1);
  EXPECT_FALSE(runner_->overflowed());
  EXPECT_NE(std::memcmp(before[0].raw(), Parameters()[0].raw(), static_cast<std::size_t>(before[0].bytes())), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, ScaledSteps, testing::Values(RunMode::kGraph, RunMode::kPynative),
                         [](const auto& mode) { return mode.param == RunMode::kGraph ? "graph" : "pynative"; });

INSTANTIATE_TEST_SUITE_P(Levels, MixedPrecision,
                         testing::Values("{level: O1}", "{level: O2}", "{level: O3}", "{level: auto}",
                                         "{level: O2, dtype: fp16, loss_scale: none}",
                                         "{level: O3, keep: [head, Tanh]}"));

}  // namespace
}  // namespace tenon

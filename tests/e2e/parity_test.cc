// mode: graph and mode: pynative agree: every run file of configs/train for a few steps, and networks with what these do
// not have. 1e-5 where fusion or layout changes the order of sums; equal bits where both run the same kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

namespace tenon {
namespace {

constexpr int kSteps = 6;

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, Tensor> variables;  // parameters, running statistics, optimiser state
  double test_loss = 0;
  std::map<std::string, RunSummary::KernelCount> kernels;
};

// A few training steps and one evaluation.
Result<Outcome> RunSteps(const RunConfig& config) {
  TENON_ASSIGN(const Network network, Network::Make(config.network));
  OpenDataOptions data_options;
  data_options.seed = static_cast<std::uint64_t>(config.seed);
  TENON_ASSIGN(const DataSource data, OpenData(config.data, data_options));
  TENON_ASSIGN(const std::unique_ptr<exec::Runtime> runtime, exec::Runtime::Open({}));
  StepRunnerOptions options;
  options.config = &config;
  options.layout = data.layout();
  const std::unique_ptr<StepRunner> runner = MakeStepRunner(*runtime, network, options);
  TENON_ASSIGN(const std::unique_ptr<Loader> loader, data.TrainLoader());
  TENON_TRY(loader->Start(0));
  Outcome outcome;
  const Batch* batch = nullptr;
  for (int step = 0; step < kSteps; ++step) {
    TENON_ASSIGN(batch, loader->Next());
    if (batch == nullptr) {
      TENON_TRY(loader->Start(loader->epoch() + 1));
      TENON_ASSIGN(batch, loader->Next());
    }
    TENON_ASSIGN(const double loss, runner->Train(*batch, LearningRate(config.optimizer), step));
    outcome.losses.push_back(loss);
  }
  TENON_ASSIGN(const StepRunner::Evaluation evaluation, runner->Evaluate(*batch));
  outcome.test_loss = evaluation.loss;
  for (const auto& names : {runner->ParameterNames(), runner->OptimizerStateNames()}) {
    for (const std::string& name : names) {
      TENON_ASSIGN(outcome.variables[name], runner->variables().Get(name));
    }
  }
  RunSummary summary;
  runner->AddTo(summary);
  outcome.kernels = summary.kernels;
  return outcome;
}

void ExpectNear(double graph, double eager, const std::string& what) {
  EXPECT_LE(std::abs(graph - eager), 1e-5 * std::max(1.0, std::abs(graph)))
      << what << ": graph " << graph << ", pynative " << eager;
}

// Adam divides by the size of the gradient. Where that is rounding alone, as for the biases of keys, which softmax does not
// see, its first steps are as long as any other unless `eps` is above the rounding.
void KeepRoundingSmall(OptimizerConfig& optimizer) {
  std::visit(
      [](auto& options) {
        if constexpr (requires { options.eps; }) options.eps = std::max(options.eps, 1e-2);
      },
      optimizer);
}

void ExpectAgree(RunConfig config, bool equal_bits) {
  KeepRoundingSmall(config.optimizer);
  config.mode = RunMode::kGraph;
  const auto graph = RunSteps(config);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  config.mode = RunMode::kPynative;
  const auto eager = RunSteps(config);
  ASSERT_TRUE(eager.ok()) << eager.status().ToString();
  for (std::size_t step = 0; step < graph->losses.size(); ++step) {
    ExpectNear(graph->losses[step], eager->losses[step], "loss of step " + std::to_string(step + 1));
    if (equal_bits) {
      EXPECT_EQ(graph->losses[step], eager->losses[step]) << "step " << step + 1;
    }
  }
  ExpectNear(graph->test_loss, eager->test_loss, "test loss");
  ASSERT_EQ(graph->variables.size(), eager->variables.size());
  for (const auto& entry : graph->variables) {
    const auto found = eager->variables.find(entry.first);
    ASSERT_NE(found, eager->variables.end()) << entry.first;
    const auto a = entry.second.values<float>(), b = found->second.values<float>();
    ASSERT_EQ(a.size(), b.size()) << entry.first;
    if (equal_bits) {
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << entry.first;
      continue;
    }
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) /
                                  std::max(1.0, std::abs(static_cast<double>(a[i]))));
    EXPECT_LE(worst, 1e-5) << entry.first;
  }
  EXPECT_FALSE(eager->kernels.empty());
}

RunConfig FromText(const std::string& sections, const std::string& shape = "[3, 8, 8]") {
  const std::string text =
      "name: test\ndata: {type: synthetic, samples: 24, classes: 10, batch: 8, image: {shape: " + shape + "}}\n" +
      sections;
  const auto tree = LoadConfigText(text, "test", ".");
  EXPECT_TRUE(tree.ok()) << tree.status().ToString();
  auto config = ReadRunConfig(*tree);
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  return std::move(config).value();
}

class RunFileParity : public testing::TestWithParam<std::string> {};

TEST_P(RunFileParity, Agrees) {
  ConfigSource source;
  source.path = GetParam();
  auto config = LoadRunConfig(source);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const DataConfig& data = config->data;
  if (!data.path.empty() && !std::filesystem::exists(data.path.resolved)) {
    if (data.type != "idx") GTEST_SKIP() << "The data '" << data.path.resolved.string() << "' are not here.";
    const std::int64_t batch = data.batch;
    config->data = FromText("network: {zoo: lenet5}\n", "[1, 28, 28]").data;  // what the usual files have
    config->data.samples = kSteps * batch;
    config->data.batch = batch;
  }
  ExpectAgree(*config, false);
}

std::vector<std::string> RunFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TENON_SOURCE_DIR) + "/configs/train"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Configs, RunFileParity, testing::ValuesIn(RunFiles()),
                         [](const auto& file) { return std::filesystem::path(file.param).stem().string(); });

TEST(ParityTest, EqualBitsWithTheSameKernels) {
  RunConfig config = FromText(
      "network: {layers: [flatten, {linear: {out: 32}}, tanh, {linear: {out: 10}}]}\n"
      "optimizer: {type: adamw, lr: 0.01}\npasses: {disabled: [fuse_before_autodiff, fuse_after_autodiff]}\n");
  ExpectAgree(config, true);
}

TEST(ParityTest, BatchNormAndDropout) {
  ExpectAgree(
      FromText("network:\n  layers:\n    - conv: {out: 6, kernel: 3, pad: 1}\n    - batch_norm\n    - relu\n"
               "    - average_pool: {kernel: 2}\n    - dropout: {ratio: 0.3}\n    - flatten\n    - linear: {out: 10}\n"
               "optimizer: {type: sgd, lr: 0.05, momentum: 0.9, weight_decay: 0.001, nesterov: true}\n"),
      false);
}

TEST(ParityTest, BranchesThatMeet) {
  ExpectAgree(
      FromText("network:\n  layers:\n    - conv: {out: 4, kernel: 3, pad: 1, name: a}\n    - sigmoid: {name: left}\n"
               "    - leaky_relu: {alpha: 0.1, name: right, input: a}\n    - mul: {input: [left, right], name: gate}\n"
               "    - add: {input: [gate, a]}\n    - global_average_pool\n    - flatten\n    - linear: {out: 10}\n"
               "optimizer: {type: adam, lr: 0.01}\n"),
      false);
}

// Shapes, indices and logic through the `op` layer: constants as inputs, several outputs, attributes of several types.
TEST(ParityTest, NetworkOfOperators) {
  ExpectAgree(FromText(R"(network:
  layers:
    - op: {type: SpaceToDepth, attrs: {blocksize: 2}}
    - op: {type: Tile, constants: {repeats: [1, 2, 1, 1]}}
    - flatten
    - linear: {out: 24, name: features}
    - op: {type: TopK, constants: {K: [6]}, outputs: [best, place]}
    - op: {type: CumSum, name: sums, input: features, constants: {axis: 1}}
    - op: {type: Greater, name: positive, input: features, constants: {B: 0}}
    - op: {type: Where, name: chosen, input: [positive, features, sums]}
    - op: {type: GatherElements, name: again, input: [chosen, place], attrs: {axis: 1}}
    - op: {type: ScatterElements, name: spread, input: [chosen, place, again], attrs: {axis: 1, reduction: add}}
    - op: {type: Slice, name: backwards, constants: {starts: [-1], ends: [-100], axes: [1], steps: [-2]}}
    - op: {type: ReduceL2, name: norm, constants: {axes: [1]}}
    - op: {type: Reciprocal, name: scale}
    - op: {type: Mul, name: unit, input: [backwards, scale]}
    - op: {type: Sin, name: wave}
    - op: {type: Shape, name: extents}
    - op: {type: Expand, name: bigger, input: [norm, extents]}
    - op: {type: Cast, name: number, input: positive, attrs: {to: float32}}
    - op: {type: Split, input: sums, attrs: {axis: 1, num_outputs: 5}, outputs: [a, b, c, d, e]}
    - op: {type: Concat, input: [e, c, bigger, best, number, a], attrs: {axis: 1}}
    - linear: {out: 10}
optimizer: {type: sgd, lr: 0.02}
)"),
              false);
}

TEST(ParityTest, ALossThatIsNotFiniteNamesTheSameOperator) {
  const std::string sections =
      "network: {layers: [flatten, {linear: {out: 10, init: {constant: 1e38}}}, {op: {type: Exp}}]}\n";
  std::string texts[2];
  for (int i = 0; i < 2; ++i) {
    RunConfig config = FromText(sections + "passes: {disabled: [fuse_before_autodiff, fuse_after_autodiff]}\n");
    config.mode = i == 0 ? RunMode::kGraph : RunMode::kPynative;
    const auto outcome = RunSteps(config);
    ASSERT_FALSE(outcome.ok());
    texts[i] = outcome.status().ToString();
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[1].find("The first operator whose result is not finite is node '"), std::string::npos) << texts[1];
}

}  // namespace
}  // namespace tenon

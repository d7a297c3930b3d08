// Convolutions with the batch norm behind them folded into their weights, in evaluation: the same numbers as the operators
// alone, also after the parameters have changed.
#include <gtest/gtest.h>

#include <cmath>

#include "core/data/open_data.h"
#include "core/exec/runtime.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

namespace tenon {
namespace {

template <class T>
T Value(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return std::move(result).value();
}

// A network on made-up images, 3 x 16 x 16, with or without fused operators.
class Runner {
 public:
  Runner(const std::string& layers, bool fused) {
    std::string text =
        "name: test\ndata: {type: synthetic, samples: 16, classes: 10, batch: 16, image: {shape: [3, 16, 16]}}\n"
        "optimizer: {type: sgd, lr: 0.1}\nnetwork: {layers: [" +
        layers + ", flatten, {linear: {out: 10}}]}\n";
    if (!fused) text += "passes: {disabled: [fuse_before_autodiff, fuse_after_autodiff]}\n";
    config_ = Value(ReadRunConfig(Value(LoadConfigText(text, "test", "."))));
    network_.emplace(Value(Network::Make(config_.network)));
    OpenDataOptions data_options;
    data_options.seed = 1;
    data_.emplace(Value(OpenData(config_.data, data_options)));
    runtime_ = Value(exec::Runtime::Open({}));
    StepRunnerOptions options;
    options.config = &config_;
    options.layout = data_->layout();
    runner_ = MakeStepRunner(*runtime_, *network_, options);
    loader_ = Value(data_->TrainLoader());
    EXPECT_TRUE(loader_->Start(0).ok());
    batch_ = Value(loader_->Next());
    EXPECT_TRUE(runner_->Prepare(*batch_).ok());
  }

  void Train() { Value(runner_->Train(*batch_, {.learning_rate = 0.1, .step = step_, .position = step_++})); }
  void TakeFrom(const Runner& other) {
    for (const std::string& name : runner_->variables().Names())
      EXPECT_TRUE(runner_->variables().Set(name, Value(other.runner_->variables().Get(name))).ok()) << name;
  }
  Tensor Output() { return *Value(runner_->Evaluate(*batch_)).output; }
  std::map<std::string, std::int64_t> Fusions() const {
    RunSummary summary;
    runner_->AddTo(summary);
    return summary.fusions;
  }

 private:
  RunConfig config_;
  std::optional<Network> network_;
  std::optional<DataSource> data_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Loader> loader_;
  const Batch* batch_ = nullptr;
  std::int64_t step_ = 0;
};

void Check(const std::string& layers, const std::string& fusion) {
  Runner plain(layers, false), fused(layers, true);
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step < 2; ++step) plain.Train();
    fused.TakeFrom(plain);
    const Tensor want = plain.Output(), got = fused.Output();
    double size = 0;
    for (std::int64_t i = 0; i < want.elements(); ++i) size = std::max(size, std::abs(double{want.data<float>()[i]}));
    for (std::int64_t i = 0; i < want.elements(); ++i)
      ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-5 * size) << layers << " round " << round;
  }
  if (!fusion.empty()) {
    EXPECT_EQ(fused.Fusions().count(fusion), 1u) << fusion << " " << layers;
  }
}

TEST(FoldedBatchNorm, GivesWhatTheOperatorsAloneGive) {
  const std::string wide = "{conv: {out: 32, kernel: 1}}, ";
  const struct {
    std::string conv;
    bool relu_inside;  // does its kernel take Relu as well?
  } cases[] = {
      {"{conv: {out: 16, kernel: 3, pad: 1}}", true},
      {"{conv: {out: 5, kernel: 5, bias: false}}", true},
      {wide + "{conv: {out: 32, kernel: 3, pad: 1, bias: false}}", true},  // Winograd's
      {wide + "{conv: {out: 32, kernel: 3, pad: 1, stride: 2}}", false},   // from here on the library's, if it is here
      {wide + "{conv: {out: 32, kernel: 3, pad: 1, group: 32}}", false},
      {wide + "{conv: {out: 24, kernel: 3, pad: 2, dilation: 2, group: 4}}", false},
      {wide + "{reshape: {shape: [0, 32, 256]}}, {conv: {out: 32, kernel: 3, pad: 1}}", true},  // lines
  };
  for (const auto& one : cases) {
    Check(one.conv + ", batch_norm", "conv_batch_norm");
    Check(one.conv + ", batch_norm, relu", one.relu_inside ? "conv_batch_norm_relu" : "");
  }
}

// More weights than outputs: the pass over the weights would cost more than it saves.
TEST(FoldedBatchNorm, IsNotOfferedForFewOutputs) {
  const std::string layers =
      "{conv: {out: 64, kernel: 1}}, {max_pool: {kernel: 8}}, {conv: {out: 64, kernel: 3, pad: 1}}, batch_norm, relu";
  Runner fused(layers, true);
  fused.Output();
  EXPECT_EQ(fused.Fusions().count("conv_batch_norm_relu"), 0u);
  EXPECT_EQ(fused.Fusions().count("batch_norm_relu_inference"), 1u);
}

}  // namespace
}  // namespace tenon

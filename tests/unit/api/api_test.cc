// The embedding interface as a program outside sees it: tenon.h and libtenon.so alone, in C++17.
#include "tenon/tenon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace tn = tenon::api;

namespace {

using Floats = std::vector<float>;

class ApiTest : public testing::Test {
 protected:
  tn::Runtime runtime_;

  tn::Tensor Of(const tn::Shape& shape, const Floats& values) { return tn::Tensor::Of(runtime_, shape, values); }
  static std::string TempFile(const std::string& name) {
    return testing::TempDir() + "/tenon_api_" + std::to_string(getpid()) + name;
  }
};

TEST_F(ApiTest, OpensTheCpu) {
  EXPECT_EQ(runtime_.device(), "cpu:0");
  ASSERT_EQ(runtime_.plugins().size(), 1u);
  EXPECT_EQ(runtime_.threads(), 1);
  EXPECT_STREQ(tn::Version(), TENON_VERSION_STRING);
}

TEST_F(ApiTest, TensorsKeepTheirValues) {
  const tn::Tensor x = Of({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(x.dtype(), tn::DType::kF32);
  EXPECT_EQ(x.shape(), (tn::Shape{2, 2}));
  EXPECT_EQ(x.Values<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_THROW(x.Values<std::int64_t>(), tn::Error);
  EXPECT_THROW(Of({3}, {1, 2}), tn::Error);
  EXPECT_THROW(tn::Tensor().shape(), tn::Error);
}

TEST_F(ApiTest, OperatorsByFunctionAndByName) {
  const tn::Tensor a = Of({2}, {1, 2}), b = Of({2}, {3, 5});
  EXPECT_EQ(tn::ops::Add(a, b).Values<float>(), (Floats{4, 7}));
  EXPECT_EQ(tn::Op("Add", {a, b}).Values<float>(), (Floats{4, 7}));
  EXPECT_EQ(tn::Op("LeakyRelu", {Of({2}, {-2, 2})}, {{"alpha", 0.5}}).Values<float>(), (Floats{-1, 2}));
  const tn::Tensor x = Of({1, 1, 2, 2}, {1, 2, 3, 4}), w = Of({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(tn::ops::Conv(x, w).Values<float>(), (Floats{10}));
  EXPECT_EQ(tn::ops::Conv(x, w, {}, {{"pads", {1, 1, 1, 1}}}).shape(), (tn::Shape{1, 1, 3, 3}));
}

TEST_F(ApiTest, PlansAreCounted) {
  const tn::Tensor a = Of({2}, {1, 2});
  for (int i = 0; i < 5; ++i) tn::ops::Add(a, a);
  const auto counts = runtime_.plan_counts();
  EXPECT_EQ(counts.misses, 1);
  EXPECT_EQ(counts.hits, 4);
}

TEST_F(ApiTest, Gradients) {
  const tn::Tensor w = Of({2}, {2, 3}).RequireGradient();
  const tn::Tensor loss = tn::ops::ReduceSum(tn::ops::Mul(w, w));
  const std::vector<tn::Tensor> slopes = tn::Gradients(loss, {w});
  EXPECT_EQ(slopes[0].Values<float>(), (Floats{4, 6}));
  EXPECT_THROW(tn::Gradients(loss, {w}), tn::Error) << "the tape was used";
  const tn::NoRecording quiet(runtime_);
  EXPECT_FALSE(tn::ops::Mul(w, w).requires_gradient());
}

TEST_F(ApiTest, ErrorsSayWhatAndWhere) {
  try {
    tn::ops::Add(Of({2}, {1, 2}), Of({3}, {1, 2, 3}));
    FAIL();
  } catch (const tn::Error& error) {
    EXPECT_EQ(error.code(), tn::Error::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("node 'Add' (Add)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(tn::Op("Reluu", {Of({1}, {1})}), tn::Error);
  EXPECT_THROW(tn::Op("Relu", {}), tn::Error);
  tn::RuntimeOptions options;
  options.device = "nosuch";
  try {
    tn::Runtime none(options);
    FAIL();
  } catch (const tn::Error& error) {
    EXPECT_EQ(error.code(), tn::Error::kUnavailable) << error.what();
  }
}

TEST_F(ApiTest, RuntimesDoNotMix) {
  tn::Runtime other;
  const tn::Tensor here = Of({1}, {1}), there = tn::Tensor::Of<float>(other, {1}, {1});
  EXPECT_THROW(tn::ops::Add(here, there), tn::Error);
}

TEST_F(ApiTest, TensorsOutliveTheirRuntime) {
  auto own = std::make_unique<tn::Runtime>();
  tn::Tensor x = tn::Tensor::Of<float>(*own, {2}, {1, 2});
  own.reset();
  EXPECT_EQ(tn::ops::Add(x, x).Values<float>(), (Floats{2, 4}));
}

TEST_F(ApiTest, Npy) {
  const std::string path = TempFile(".npy");
  Of({2, 3}, {1, 2, 3, 4, 5, 6}).SaveNpy(path);
  const tn::Tensor back = tn::Tensor::LoadNpy(runtime_, path);
  EXPECT_EQ(back.shape(), (tn::Shape{2, 3}));
  EXPECT_EQ(back.Values<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  Of({}, {7}).SaveNpy(path);
  EXPECT_EQ(tn::Tensor::LoadNpy(runtime_, path).shape(), tn::Shape{});
  std::remove(path.c_str());
  EXPECT_THROW(tn::Tensor::LoadNpy(runtime_, path), tn::Error);
}

TEST_F(ApiTest, DLPackRoundTrip) {
  const tn::Tensor x = Of({2, 2}, {1, 2, 3, 4});
  DLManagedTensorVersioned* view = x.ToDLPack();
  ASSERT_NE(view, nullptr);
  const tn::Tensor back = tn::Tensor::FromDLPack(runtime_, view);  // takes the view over
  EXPECT_EQ(back.shape(), (tn::Shape{2, 2}));
  EXPECT_EQ(back.Values<float>(), (Floats{1, 2, 3, 4}));
}

constexpr const char* kNetwork =
    "network: {layers: [{linear: {out: 8}}, relu, {linear: {out: 2}}]}\noptimizer: {type: sgd, lr: 0.5, momentum: "
    "0.9}\n";

class NetworkTest : public ApiTest, public testing::WithParamInterface<const char*> {
 protected:
  tn::Network Make() { return tn::Network::FromText(runtime_, std::string(kNetwork) + "mode: " + GetParam() + "\n"); }
};

TEST_P(NetworkTest, TrainsSavesAndLoads) {
  tn::Network network = Make();
  const tn::Tensor points = Of({4, 2}, {1, 1, -1, 1, -1, -1, 1, -1});
  const tn::Tensor classes = tn::Tensor::Of<std::int64_t>(runtime_, {4}, {1, 0, 1, 0});
  const double first = network.TrainStep(points, classes);
  for (int i = 0; i < 20; ++i) network.TrainStep(points, classes);
  const std::string path = TempFile(".safetensors");
  network.Save(path);
  const double next = network.TrainStep(points, classes);
  EXPECT_LT(next, first);
  tn::Network again = Make();
  again.Load(path);
  EXPECT_EQ(again.TrainStep(points, classes), next) << "weights and optimiser state were loaded";
  EXPECT_EQ(again.steps(), network.steps());
  EXPECT_EQ(again.Run(points).Values<float>(), network.Run(points).Values<float>());
  std::remove(path.c_str());
}

// A runtime belongs to one thread at a time; threads that infer have one each, with the weights of one file.
TEST_P(NetworkTest, InfersInSeveralThreads) {
  tn::Network network = Make();
  const Floats points{1, 1, -1, 1, -1, -1, 1, -1};
  network.TrainStep(Of({4, 2}, points), tn::Tensor::Of<std::int64_t>(runtime_, {4}, {1, 0, 1, 0}));
  const std::string path = TempFile("_threads.safetensors");
  network.Save(path);
  const Floats expected = network.Run(Of({4, 2}, points)).Values<float>();
  const std::string text = std::string(kNetwork) + "mode: " + GetParam() + "\n";
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&, out = &count] {
      const tn::Runtime own;
      tn::Network mine = tn::Network::FromText(own, text);
      mine.Load(path);
      int bad = 0;
      for (int i = 0; i < 50; ++i) bad += mine.Run(tn::Tensor::Of(own, {4, 2}, points)).Values<float>() != expected;
      *out = bad;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  std::remove(path.c_str());
}

TEST_P(NetworkTest, ParametersByName) {
  tn::Network network = Make();
  EXPECT_THROW(network.ParameterNames(), tn::Error);
  network.Prepare(tn::DType::kF32, {2});
  EXPECT_EQ(network.ParameterNames(),
            (std::vector<std::string>{"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"}));
  network.SetParameter("linear2.weight", Of({2, 8}, Floats(16, 0)));
  network.SetParameter("linear2.bias", Of({2}, {3, 4}));
  EXPECT_EQ(network.Run(Of({1, 2}, {1, 1})).Values<float>(), (Floats{3, 4}));
  EXPECT_EQ(network.Parameter("linear2.bias").Values<float>(), (Floats{3, 4}));
  EXPECT_THROW(network.Run(Of({1, 3}, {1, 1, 1})), tn::Error);
}

// Learned positions of a run whose samples differ in length have a row for each place of the longest (tokens.length). A
// shorter batch is computed as by the same network whose table ends where the batch does.
TEST_P(NetworkTest, ShorterBatchesUseTheFirstLearnedPositions) {
  const std::string rest = std::string("mode: ") + GetParam() +
                           "\noptimizer: {type: sgd, lr: 0.5}\n"
                           "network: {zoo: gpt, args: {vocab: 5, width: 4, layers: 1, heads: 2, tied: false}}\n";
  const std::string lines = "data: {type: text, path: lines.txt, tokens: {lines: true, length: 6}}\n";
  tn::Network whole = tn::Network::FromText(runtime_, lines + rest), cut = tn::Network::FromText(runtime_, rest);
  for (tn::Network* network : {&whole, &cut}) network->Prepare(tn::DType::kI64, {3});
  const std::string table = "position1.weight";
  EXPECT_EQ(whole.Parameter(table).shape(), (tn::Shape{6, 4}));
  EXPECT_EQ(cut.Parameter(table).shape(), (tn::Shape{3, 4}));
  const Floats before = whole.Parameter(table).Values<float>();
  cut.SetParameter(table, Of({3, 4}, Floats(before.begin(), before.begin() + 12)));
  for (const std::string& name : cut.ParameterNames()) {
    if (name != table) cut.SetParameter(name, whole.Parameter(name));
  }
  const tn::Tensor tokens = tn::Tensor::Of<std::int64_t>(runtime_, {2, 3}, {0, 1, 2, 4, 3, 1});
  const tn::Tensor next = tn::Tensor::Of<std::int64_t>(runtime_, {2, 3}, {1, 2, 3, 3, 1, 0});
  EXPECT_EQ(whole.Run(tokens).Values<float>(), cut.Run(tokens).Values<float>());
  EXPECT_EQ(whole.TrainStep(tokens, next), cut.TrainStep(tokens, next));
  EXPECT_EQ(whole.Run(tokens).Values<float>(), cut.Run(tokens).Values<float>());
  const Floats after = whole.Parameter(table).Values<float>(), short_after = cut.Parameter(table).Values<float>();
  EXPECT_EQ(Floats(after.begin(), after.begin() + 12), short_after);
  EXPECT_NE(Floats(before.begin(), before.begin() + 12), short_after) << "the rows in use are trained";
  EXPECT_EQ(Floats(after.begin() + 12, after.end()), Floats(before.begin() + 12, before.end()));
}

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const tn::Error& error) {
    return error.what();
  }
  return "no error";
}

// What a run file asks for around its steps is refused where it would change them; nothing is dropped in silence.
TEST_P(NetworkTest, RefusesKeysThatAreNotOfAStep) {
  const std::string text = std::string(kNetwork) + "mode: " + GetParam() + "\n";
  const tn::Tensor points = Of({1, 2}, {1, 1}), classes = tn::Tensor::Of<std::int64_t>(runtime_, {1}, {1});
  tn::Network cosine = tn::Network::FromText(runtime_, text + "schedule: {type: cosine}\n");
  EXPECT_NE(MessageOf([&] { cosine.TrainStep(points, classes); }).find("error: 'schedule' (cosine) needs"),
            std::string::npos)
      << MessageOf([&] { cosine.TrainStep(points, classes); });
  EXPECT_GT(cosine.TrainStep(points, classes, 0.1), 0) << "the caller's learning rate";
  tn::Network summed = tn::Network::FromText(runtime_, text + "train: {accumulate: 4}\n");
  EXPECT_NE(MessageOf([&] { summed.TrainStep(points, classes); }).find("'train.accumulate' is 4"), std::string::npos);
  EXPECT_NE(MessageOf([&] {
              tn::Network::FromText(runtime_, text + "math: high\n");
            }).find("'math: high' is a choice of the runtime"),
            std::string::npos);
}

// math: high is that of the run file which the runtime was given.
TEST_P(NetworkTest, MathHighIsThatOfTheRuntime) {
  tn::RuntimeOptions options;
  options.config = TempFile("_high.yaml");
  std::ofstream(options.config) << kNetwork << "mode: " << GetParam()
                                << "\nmath: high\ndata: {type: csv, path: none.csv}\n";
  try {
    const tn::Runtime high(options);
    tn::Network network = tn::Network::FromFile(high, options.config);
    EXPECT_EQ(network.Run(tn::Tensor::Of<float>(high, {1, 2}, {1, 1})).shape(), (tn::Shape{1, 2}));
  } catch (const tn::Error& error) {
    EXPECT_EQ(error.code(), tn::Error::kUnavailable) << error.what();  // a processor without such kernels
    EXPECT_NE(std::string(error.what()).find("'math: high'"), std::string::npos) << error.what();
  }
  std::remove(options.config.c_str());
}

TEST_P(NetworkTest, StartsFromTheWeightsOfInitFrom) {
  tn::Network network = Make();
  network.Prepare(tn::DType::kF32, {2});
  const std::string path = TempFile("_first.safetensors");
  network.SetParameter("linear2.bias", Of({2}, {3, 4}));
  network.Save(path);
  tn::Network next =
      tn::Network::FromText(runtime_, std::string(kNetwork) + "mode: " + GetParam() + "\ninit_from: " + path + "\n");
  EXPECT_EQ(next.Run(Of({1, 2}, {1, 1})).Values<float>(), network.Run(Of({1, 2}, {1, 1})).Values<float>());
  EXPECT_EQ(next.Parameter("linear2.bias").Values<float>(), (Floats{3, 4}));
  EXPECT_EQ(next.steps(), 0);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Modes, NetworkTest, testing::Values("graph", "pynative"));

}  // namespace

// Gradients and running statistics of the first three steps of a network with convolutions and batch norm, against the same
// in double precision: PyTorch 2.15 float64 (tests/e2e/peer/batch_norm_steps.py), running variance as ONNX defines it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/e2e/training_fixture.h"

namespace tenon {
namespace {

struct Expected {
  double loss;
  double mean[4], var[4];
  std::map<std::string, std::array<double, 4>> gradients;  // first, last, sum, L2 norm
};

const std::vector<Expected>& Steps() {
  static const std::vector<Expected> steps = {
      {1.2329273,
       {0.0380387213, 0.01117265782, 0.01076374916, -0.04049948113},
       {0.9799399392, 0.9788123848, 0.9779794062, 0.954551235},
       {{"c1.weight", {-0.006037703975, -0.08548152554, -0.7314341905, 0.4302467337}},
        {"c1.bias", {1.387778781e-17, -5.551115123e-17, -7.285838599e-17, 6.369057972e-17}},
        {"bn.weight", {-0.05936916627, 0.03247189227, 0.1855376215, 0.1951800303}},
        {"bn.bias", {-0.01745354014, 0.01036817657, 0.1745594803, 0.1627332075}},
        {"c2.weight", {0.06677514657, -0.002297079731, -0.6020920183, 0.5737541354}},
        {"c2.bias", {0.03550613136, -0.003984756871, -0.05401657471, 0.0927000777}},
        {"fc.weight", {-0.3366821226, -0.02899058432, -8.326672685e-17, 0.548910847}},
        {"fc.bias", {-0.1332745589, 0.07971507931, -1.387778781e-17, 0.1642717863}}}},
      {1.117328824,
       {0.07031940959, 0.01864157907, 0.01903866944, -0.0728450887},
       {0.9596398945, 0.9617864853, 0.9532102398, 0.9194452623},
       {{"c1.weight", {-0.002379620763, -0.02050937312, 0.4646630012, 0.3799342447}},
        {"c1.bias", {-2.775557562e-17, -3.122502257e-17, -3.339342691e-17, 5.020406325e-17}},
        {"bn.weight", {0.01808134699, 0.0510579819, 0.1405036224, 0.07636902886}},
        {"bn.bias", {-0.002228290019, 0.1035577925, 0.2245157134, 0.1466699663}},
        {"c2.weight", {-0.003511315404, -0.000404341953, 1.214132322, 0.4614810845}},
        {"c2.bias", {0.1144619097, -0.002524560873, 0.03163278195, 0.1398453633}},
        {"fc.weight", {-0.01537826188, -0.07701274741, 0, 0.4111012329}},
        {"fc.bias", {-0.0862487033, 0.2350276268, -5.551115123e-17, 0.2912249856}}}},
      {1.05979645,
       {0.09528341666, 0.0201069027, 0.02071085056, -0.1003030497},
       {0.9286296274, 0.9302092181, 0.9133955463, 0.8861015833},
       {{"c1.weight", {0.04480042724, 0.03483541329, 0.05809990153, 0.2698209817}},
        {"c1.bias", {2.081668171e-17, 1.387778781e-17, 2.341876693e-17, 2.872787973e-17}},
        {"bn.weight", {0.008418298851, -0.0446939849, -0.04703836361, 0.05264149759}},
        {"bn.bias", {0.04570072048, -0.055117485, -0.01272370206, 0.07740390838}},
        {"c2.weight", {-0.007588651232, -0.0001026313444, 1.249102387, 0.3624681163}},
        {"c2.bias", {0.0009534125937, -0.000268704654, 0.08104313627, 0.08036453323}},
        {"fc.weight", {0.1208742547, -0.1453024696, -1.387778781e-17, 0.2425946539}},
        {"fc.bias", {0.135583577, -0.02580663184, 0, 0.1763515418}}}},
  };
  return steps;
}

constexpr const char* kNetwork = R"(
network:
  layers:
    - conv: {out: 4, kernel: 3, pad: 1, name: c1}
    - batch_norm: {name: bn}
    - relu
    - conv: {out: 3, kernel: 3, stride: 2, name: c2}
    - global_average_pool
    - flatten
    - linear: {out: 3, name: fc}
optimizer: {type: sgd, lr: 0.1, momentum: 0.5}
)";

TEST(BatchNormSteps, MatchDoublePrecision) {
  TrainingFixture fixture(kNetwork, Shape{2, 7, 6});
  Batch batch;
  batch.samples = Tensor(DType::kF32, Shape{5, 2, 7, 6});
  batch.labels = Tensor(DType::kI64, Shape{5});
  batch.count = 5;
  fixture.Check(fixture.runner().Prepare(batch));
  const std::vector<std::string> trained = {"c1.weight", "c1.bias", "bn.weight", "bn.bias",
                                            "c2.weight", "c2.bias", "fc.weight", "fc.bias"};
  for (std::size_t k = 0; k < trained.size(); ++k)
    fixture.SetByFormula(trained[k], static_cast<double>(k), 0.4, trained[k] == "bn.weight" ? 1.0 : 0.0);
  std::map<std::string, std::vector<double>> former;  // momentum buffers: buffer = 0.5 * former + gradient
  for (std::size_t step = 0; step < Steps().size(); ++step) {
    const Expected& expected = Steps()[step];
    FillByFormula(batch.samples, 100.0 + static_cast<double>(step), 1.0, 0.0);
    for (std::int64_t i = 0; i < 5; ++i)
      batch.labels.data<std::int64_t>()[i] = (i * 2 + static_cast<std::int64_t>(step)) % 3;
    const auto loss = fixture.runner().Train(batch, 0.1, static_cast<std::int64_t>(step));
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    EXPECT_NEAR(*loss, expected.loss, 1e-5) << "step " << step;
    const std::vector<double> mean = fixture.Values("bn.running_mean"), var = fixture.Values("bn.running_var");
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(mean[c], expected.mean[c], 1e-5) << "step " << step << " channel " << c;
      EXPECT_NEAR(var[c], expected.var[c], 1e-5) << "step " << step << " channel " << c;
    }
    for (const std::string& name : trained) {
      const std::vector<double> buffer = fixture.Values("moments." + name);
      std::vector<double>& before = former[name];
      before.resize(buffer.size(), 0.0);
      double sum = 0, squares = 0;
      std::vector<double> gradient(buffer.size());
      for (std::size_t i = 0; i < buffer.size(); ++i) {
        gradient[i] = buffer[i] - 0.5 * before[i];
        sum += gradient[i];
        squares += gradient[i] * gradient[i];
      }
      const std::array<double, 4>& want = expected.gradients.at(name);
      EXPECT_NEAR(gradient.front(), want[0], 1e-5) << name << " step " << step;
      EXPECT_NEAR(gradient.back(), want[1], 1e-5) << name << " step " << step;
      EXPECT_NEAR(sum, want[2], 1e-5) << name << " step " << step;
      EXPECT_NEAR(std::sqrt(squares), want[3], 1e-5) << name << " step " << step;
      before = buffer;
    }
  }
}

}  // namespace
}  // namespace tenon

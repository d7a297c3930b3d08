// LeNet-5 from weights that a formula gives follows PyTorch's loss over 100 steps. Expected values: PyTorch 2.15 on the
// CPU, float32 (tests/e2e/peer/lenet_trajectory.py); in float64 the same run differs by at most 1.6e-6.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/e2e/training_fixture.h"

namespace tenon {
namespace {

constexpr double kPyTorchLoss[100] = {
    2.32060957,  2.28224444,   2.43584514,  2.28378868,  2.29685473,  2.243963,    2.30457354,  2.24592447,
    2.25383639,  2.1760006,    2.28696299,  2.22185755,  2.17870045,  2.15634274,  2.16386461,  2.16074252,
    2.16640806,  2.09639692,   2.14623475,  2.12365222,  2.06693006,  2.09231281,  2.00765777,  2.07519579,
    1.95548475,  1.86306727,   1.83032978,  1.86248422,  1.87961912,  1.85325325,  1.67151308,  1.75923336,
    1.64304519,  1.6675092,    1.52169311,  1.46212554,  1.31465876,  1.21974456,  1.09010518,  1.05719876,
    1.16499233,  0.968535721,  0.854488134, 0.714126945, 0.864188552, 0.780240119, 0.75783056,  0.804497063,
    0.849044919, 0.722578049,  0.508747518, 0.975884914, 0.595582128, 0.467716932, 0.416286767, 0.492377698,
    0.88756001,  0.626210272,  0.309983492, 0.441983223, 1.58988249,  1.28541195,  1.16603255,  0.321424961,
    0.591065943, 1.17170846,   0.513798654, 0.545933962, 1.03824568,  0.596965909, 0.323071301, 0.533400536,
    0.538488865, 0.515043139,  0.424377292, 0.372573435, 0.390595376, 0.526734531, 0.500979006, 0.257323146,
    0.314360827, 0.412819892,  0.125618979, 0.265898257, 0.796674967, 0.348387182, 0.266578436, 0.153662503,
    0.322627962, 0.418713808,  0.312634081, 0.171254084, 0.286737055, 0.282443434, 0.138009727, 0.156175897,
    0.195666119, 0.0702237487, 0.138222963, 0.303995192,
};

// 8x8 -> each pixel 3x3 -> 24x24 -> two zeros on each side.
void FillSample(const float* pixels, float* image) {
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 24; ++x) image[(y + 2) * 28 + x + 2] = pixels[y / 3 * 8 + x / 3] / 16.0f;
  }
}

TEST(LeNetTrajectory, FollowsPyTorch) {
  TrainingFixture fixture("network: {zoo: lenet5}\noptimizer: {type: sgd, lr: 0.006, momentum: 0.9}\n",
                          Shape{1, 28, 28});
  const DigitRows digits = ReadDigits();
  Batch batch;
  batch.samples = Tensor(DType::kF32, Shape{32, 1, 28, 28});
  batch.labels = Tensor(DType::kI64, Shape{32});
  batch.count = 32;
  fixture.Check(fixture.runner().Prepare(batch));
  const std::vector<std::string> names = fixture.runner().ParameterNames();
  ASSERT_EQ(names.size(), 10u);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const Shape shape = fixture.runner().variables().Find(names[k])->shape;
    const double fan = shape.rank() > 1 ? static_cast<double>(shape.elements() / shape[0]) : 100.0;
    fixture.SetByFormula(names[k], static_cast<double>(k), 1.7 / std::sqrt(fan));
  }
  for (std::int64_t step = 0; step < 100; ++step) {
    for (std::int64_t i = 0; i < 32; ++i) {
      const auto row = static_cast<std::size_t>((step * 32 + i) % 1408);
      FillSample(digits.pixels.data() + row * 64, batch.samples.data<float>() + i * 784);
      batch.labels.data<std::int64_t>()[i] = digits.labels[row];
    }
    const auto loss = fixture.runner().Train(batch, 0.006, step);
    ASSERT_TRUE(loss.ok()) << loss.status().ToString();
    EXPECT_NEAR(*loss, kPyTorchLoss[step], 1e-4) << "step " << step;
  }
  EXPECT_LT(kPyTorchLoss[99], kPyTorchLoss[0] / 2);
}

}  // namespace
}  // namespace tenon

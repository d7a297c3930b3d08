#include "tests/e2e/training_fixture.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>

#include "core/base/text.h"
#include "core/config/load.h"

namespace tenon {

void FillByFormula(Tensor& tensor, double k, double scale, double offset) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double x = static_cast<double>(i);
    const float value = static_cast<float>(scale * std::sin(0.7 * x * x + 1.3 * x + k));
    tensor.data<float>()[i] = offset == 0 ? value : static_cast<float>(static_cast<double>(value) + offset);
  }
}

namespace {
SampleLayout LayoutOf(const Shape& sample) {
  SampleLayout layout;
  layout.shape = sample;
  return layout;
}
}  // namespace

TrainingFixture::TrainingFixture(const std::string& sections, const Shape& sample)
    : TrainingFixture(sections, LayoutOf(sample)) {}

TrainingFixture::TrainingFixture(const std::string& sections, const SampleLayout& layout) {
  auto tree = LoadConfigText(
      "name: test\ndata: {type: synthetic, samples: 8, classes: 10, image: {shape: [1, 8, 8]}}\n" + sections, "test",
      ".");
  Check(tree.status());
  auto config = ReadRunConfig(*tree);
  Check(config.status());
  config_ = std::move(config).value();
  auto runtime = exec::Runtime::Open({});
  Check(runtime.status());
  runtime_ = std::move(runtime).value();
  auto network = Network::Make(config_.network);
  Check(network.status());
  network_ = std::make_unique<Network>(std::move(network).value());
  StepRunnerOptions options;
  options.config = &config_;
  options.layout = layout;
  runner_ = MakeStepRunner(*runtime_, *network_, options);
}

TrainingFixture::~TrainingFixture() { runner_.reset(); }

void TrainingFixture::Check(const Status& status) {
  if (status.ok()) return;
  ADD_FAILURE() << status.ToString();
  std::exit(1);
}

void TrainingFixture::SetByFormula(const std::string& name, double k, double scale, double offset) {
  Tensor value(DType::kF32, runner_->variables().Find(name)->shape);
  FillByFormula(value, k, scale, offset);
  Check(runner_->variables().Set(name, value));
}

std::vector<double> TrainingFixture::Values(const std::string& name) {
  auto tensor = runner_->variables().Get(name);
  Check(tensor.status());
  const auto values = tensor->values<float>();
  return {values.begin(), values.end()};
}

DigitRows ReadDigits() {
  DigitRows rows;
  const std::string path = std::string(TENON_SOURCE_DIR) + "/data/optdigits.csv.gz";
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  char line[1024];
  while (file != nullptr && gzgets(file, line, sizeof line) != nullptr) {
    const std::vector<std::string> cells = Split(Trim(line), ',');
    for (std::size_t i = 0; i < 64; ++i) rows.pixels.push_back(std::stof(cells[i]));
    rows.labels.push_back(std::stoll(cells[64]));
  }
  if (file != nullptr) gzclose(file);
  return rows;
}

}  // namespace tenon

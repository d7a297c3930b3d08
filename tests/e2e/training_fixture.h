#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exec/runtime.h"
#include "core/train/network.h"
#include "core/train/step_runner.h"

namespace tenon {

// offset + scale * sin(0.7 i^2 + 1.3 i + k), rounded to float32: spread values that another program can compute too.
void FillByFormula(Tensor& tensor, double k, double scale, double offset);

// The CPU plugin and a network from configuration text, ready for steps. Failures are reported and end the test program.
class TrainingFixture {
 public:
  TrainingFixture(const std::string& sections, const Shape& sample);
  TrainingFixture(const std::string& sections, const SampleLayout& layout);
  ~TrainingFixture();
  StepRunner& runner() { return *runner_; }
  void Check(const Status& status);
  void SetByFormula(const std::string& name, double k, double scale, double offset = 0);
  std::vector<double> Values(const std::string& name);

 private:
  RunConfig config_;
  std::unique_ptr<exec::Runtime> runtime_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<StepRunner> runner_;
};

// The rows of data/optdigits.csv.gz.
struct DigitRows {
  std::vector<float> pixels;  // 64 a row
  std::vector<std::int64_t> labels;
};
DigitRows ReadDigits();

}  // namespace tenon

#include "tests/plugins/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon::testing {
namespace {

void ExpectAgrees(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  const Tensor a = Cast(got, DType::kF64), b = Cast(expected, DType::kF64);
  double scale = 1e-9;
  for (std::int64_t k = 0; k < b.elements(); ++k) scale = std::max(scale, std::abs(b.data<double>()[k]));
  for (std::int64_t k = 0; k < b.elements(); ++k) {
    EXPECT_NEAR(a.data<double>()[k], b.data<double>()[k], tolerance * scale) << what << " element " << k;
  }
}

// In float64; numbers that an operator takes in float32 alone stay, such as a learning rate.
Result<std::vector<Tensor>> InDouble(const OpCall& call) {
  OpCall wide = call, mixed = call;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& input = call.inputs[i];
    if (!input.defined() || !IsFloating(input.dtype())) continue;
    wide.inputs[i] = Cast(input, DType::kF64);
    if (input.shape().rank() > 0) mixed.inputs[i] = wide.inputs[i];
  }
  auto expected = RunReference(wide);
  return expected.ok() ? std::move(expected) : RunReference(mixed);
}

}  // namespace

std::vector<Tensor> CompareWithReference(OpCall call, double tolerance, const std::string& what) {
  auto expected = InDouble(call);
  EXPECT_TRUE(expected.ok()) << what << ": " << expected.status().ToString();
  for (const NamedRunner& runner : Runners()) {
    if (runner.name == "reference" || !expected.ok()) continue;
    auto got = runner.run(call);
    EXPECT_TRUE(got.ok()) << what << ": " << got.status().ToString();
    if (!got.ok()) continue;
    for (std::size_t i = 0; i < got->size(); ++i) {
      if ((*got)[i].defined()) ExpectAgrees((*got)[i], (*expected)[i], tolerance, fmt::format("{} output {}", what, i));
    }
  }
  return expected.ok() ? std::move(expected).value() : std::vector<Tensor>();
}

}  // namespace tenon::testing

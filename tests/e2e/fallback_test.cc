// Nodes without a kernel on a device whose memory the host reads, but whose streams have threads of their own
// (tests/fixtures/device_queue): copies of their operands go to the host's reference and back. Expected losses are those of
// device_cpu. tests/e2e/npu_test.cc has the same for memory that the host cannot read.
#include <gtest/gtest.h>

#include "tests/e2e/run_case.h"
#include "tests/support/plugin_fixtures.h"

namespace tenon {
namespace {

using testing_support::FixtureFile;
using testing_support::RunCase;
using testing_support::ToolResult;

TEST(Fallback, TrainsWithQueuesOverHostMemory) {
  const std::string sections =
      "plugins:\n  trust: off\n  load:\n    - device_cpu\n    - {path: " + FixtureFile("device_queue") + R"(}
data: {type: synthetic, samples: 44, classes: 4, image: {shape: [1, 2, 3]}, batch: 8}
network: {layers: [flatten, {linear: {out: 6}}, relu, {linear: {out: 4}}]}
optimizer: {type: sgd, lr: 0.1, momentum: 0.9}
train: {epochs: 3}
fallback: allow
)";
  const RunCase cpu(sections);
  ASSERT_EQ(cpu.Train().exit_code, 0);
  const auto expected = cpu.Summary().at("train_loss").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 3U);
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(sections);
    const ToolResult result = run.Train({"device=queue", std::string("mode=") + mode});
    ASSERT_EQ(result.exit_code, 0) << mode << "\n" << result.err;
    const auto losses = run.Summary().at("train_loss").get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 3U) << mode;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << mode << " epoch " << i;
    EXPECT_GT(run.Summary().at("fallbacks").size(), 0U) << mode;
  }
}

}  // namespace
}  // namespace tenon

// Layers that are computed again for the backward pass: the same bits, less memory.
#include <gtest/gtest.h>

#include "tests/e2e/step_session.h"

namespace tenon {
namespace {

class RecomputeModes : public testing::TestWithParam<const char*> {
 protected:
  // Blocks of convolutions with normalisation, in layers "one.*", "two.*" ...
  std::string Sections(const std::string& more) const {
    std::string layers;
    for (const char* block : {"one", "two", "three", "four"}) {
      for (const char* part : {"a", "b", "c"}) {
        const std::string name = std::string(block) + "." + part;
        layers += "    - conv: {out: 8, kernel: 3, pad: 1, name: " + name + "}\n";
        layers += "    - batch_norm: {name: " + name + "_norm}\n    - relu: {name: " + name + "_relu}\n";
      }
      layers += "    - dropout: {ratio: 0.1, name: " + std::string(block) + ".dropout}\n";
    }
    return "mode: " + std::string(GetParam()) +
           "\ndata: {type: synthetic, samples: 32, classes: 4, image: {shape: [2, 24, 24]}, batch: 16}\n"
           "optimizer: {type: sgd, momentum: 0.9}\nnetwork:\n  layers:\n" +
           layers + "    - flatten\n    - linear: {out: 4}\n" + more;
  }
};

TEST_P(RecomputeModes, GivesTheSameBitsWithLessMemory) {
  StepSession kept(Sections(""));
  const auto losses = kept.TrainEpochs(3, 0.05);
  const auto values = kept.Values();
  const std::int64_t peak = kept.device().peak_bytes();
  const std::pair<const char*, double> cases[] = {
      {"[one, two, three, four]", 0.8}, {"[one, three]", 0.95}, {"['*_relu', '*_norm']", 2.0}};
  for (const auto& [patterns, limit] : cases) {
    StepSession session(Sections("train: {recompute: " + std::string(patterns) + "}"));
    EXPECT_EQ(session.TrainEpochs(3, 0.05), losses) << patterns;
    EXPECT_EQ(session.Values(), values) << patterns;
    EXPECT_GT(session.Summary().recomputed_nodes, 10) << patterns;
    EXPECT_LT(static_cast<double>(session.device().peak_bytes()), limit * static_cast<double>(peak)) << patterns;
  }
}

TEST_P(RecomputeModes, GoesWithSeveralBatchesAStep) {
  StepSession kept(Sections("train: {accumulate: 2}")), again(Sections("train: {accumulate: 2, recompute: ['*']}"));
  EXPECT_EQ(kept.TrainEpochs(3, 0.05), again.TrainEpochs(3, 0.05));
  EXPECT_EQ(kept.Values(), again.Values());
}

INSTANTIATE_TEST_SUITE_P(Modes, RecomputeModes, testing::Values("graph", "pynative"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace tenon

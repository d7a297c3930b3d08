// Operators of plugins/ops_custom in networks that are trained, in both engines.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/e2e/run_case.h"

namespace tenon {
namespace {

using testing_support::RunCase;
using testing_support::ToolPath;
using testing_support::ToolResult;

std::string Sections(const std::string& layers, const std::string& mode, const std::string& more = "") {
  const std::string folder = ToolPath("../lib/tenon/plugins/");
  return "mode: " + mode + "\nplugins:\n  trust: off\n  load:\n    - {path: " + folder +
         "device_cpu.so}\n    - {path: " + folder + "ops_custom.so}\n" + R"(
data: {type: synthetic, samples: 40, classes: 4, image: {shape: [1, 4, 6]}, batch: 8}
optimizer: {type: sgd, lr: 0.1}
train: {epochs: 6}
)" + more +
         "network:\n  layers:\n" + layers;
}

// The loss falls, the same way in both engines, and the operators ran with kernels of the library.
void ExpectTrains(const std::string& layers, const std::vector<std::string>& operators, const std::string& more = "") {
  std::vector<double> first;
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(Sections(layers, mode, more));
    const ToolResult result = run.Train();
    ASSERT_EQ(result.exit_code, 0) << mode << "\n" << layers << result.err;
    const auto losses = run.Summary().at("train_loss").get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 6U);
    EXPECT_LT(losses.back(), losses.front()) << mode;
    if (first.empty()) first = losses;
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], first[i], 1e-4) << mode << " epoch " << i;
    for (const std::string& op : operators) {
      for (const char* side : {"", "Grad"}) {
        const std::string name = "org.tenon.custom." + op + side;
        ASSERT_TRUE(run.Summary().at("kernels").contains(name)) << mode << " " << name;
        EXPECT_GE(run.Summary().at("kernels").at(name).at("fast"), 1) << mode << " " << name;
      }
    }
  }
}

constexpr char kTransformer[] = R"(    - flatten
    - {linear: {out: 96, name: x}}
    - {split: {parts: 3, outputs: [q, k, v]}}
    - {reshape: {shape: [0, 4, 2, 4], input: q}}
    - {op: {domain: org.tenon.custom, type: RotaryEmbedding, attrs: {base: 100.0}}}
    - {transpose: {perm: [0, 2, 1, 3], name: queries}}
    - {reshape: {shape: [0, 4, 2, 4], input: k}}
    - {op: {domain: org.tenon.custom, type: RotaryEmbedding, attrs: {base: 100.0}}}
    - {transpose: {perm: [0, 2, 1, 3], name: keys}}
    - {reshape: {shape: [0, 2, 4, 4], input: v, name: values}}
    - {op: {domain: org.tenon.custom, type: Attention, attrs: {causal: true, window: 3}, input: [queries, keys, values]}}
    - flatten
    - {linear: {out: 16}}
    - {split: {parts: 2, outputs: [gate, up]}}
    - {op: {domain: org.tenon.custom, type: SwiGLU, input: [gate, up]}}
    - {linear: {out: 4}}
)";

TEST(OpsCustom, TrainTransformerParts) { ExpectTrains(kTransformer, {"RotaryEmbedding", "Attention", "SwiGLU"}); }

// A score for each sample, of a loss against constant labels.
TEST(OpsCustom, TrainThroughLosses) {
  ExpectTrains(R"(    - flatten
    - {linear: {out: 5, name: scores}}
    - {op: {domain: org.tenon.custom, type: SoftmaxCrossEntropy, attrs: {reduction: none}, constants: {Labels: [0, 1, 2, 3, 4, 0, 1, -100]}}}
    - {reshape: {shape: [-1, 1], name: entropy}}
    - {op: {domain: org.tenon.custom, type: SigmoidFocalLoss, input: scores, constants: {Targets: [[1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]]}, name: focal}}
    - {concat: {input: [entropy, focal]}}
    - {linear: {out: 4}}
)",
               {"SoftmaxCrossEntropy", "SigmoidFocalLoss"});
}

// The rows of bags and the taps of a deformed convolution, both trained; steps of an alignment out of one sample each.
TEST(OpsCustom, TrainConvolutionAndBags) {
  ExpectTrains(R"(    - {parameter: {shape: [3, 1, 3, 3], init: {uniform: 0.5}, name: kernel}}
    - {conv: {out: 18, kernel: 3, pad: 1, input: input, name: moves}}
    - {op: {domain: org.tenon.custom, type: DeformConv, attrs: {padding: [1, 1]}, input: [input, kernel, moves]}}
    - relu
    - flatten
    - {linear: {out: 5, name: seen}}
    - {parameter: {shape: [7, 5], init: {uniform: 0.5}, name: table}}
    - {op: {domain: org.tenon.custom, type: EmbeddingBag, input: table, constants: {Indices: [0, 1, 2, 3, 4, 5, 6, 0, 2], Offsets: [0, 1, 2, 3, 4, 5, 6, 7]}, name: bags}}
    - {add: {input: [seen, bags]}}
    - {linear: {out: 4}}
)",
               {"DeformConv", "EmbeddingBag"});
}

TEST(OpsCustom, TrainThroughAlignments) {
  ExpectTrains(R"(    - flatten
    - {linear: {out: 15}}
    - {reshape: {shape: [0, 5, 3]}}
    - {transpose: {perm: [1, 0, 2]}}
    - {op: {type: LogSoftmax, attrs: {axis: -1}, name: steps}}
    - {op: {domain: org.tenon.custom, type: CTCLoss, attrs: {reduction: none}, input: steps, constants: {Targets: [[1, 2], [2, 1], [1, 1], [2, 2], [1, 0], [2, 0], [1, 2], [2, 1]], InputLengths: [5, 5, 5, 5, 4, 4, 3, 5], TargetLengths: [2, 2, 2, 2, 1, 1, 2, 2]}}}
    - {reshape: {shape: [-1, 1], name: losses}}
    - {linear: {out: 4}}
)",
               {"CTCLoss"});
}

TEST(OpsCustom, TrainUnderMixedPrecision) {
  for (const char* level : {"O1", "O2", "O3"})
    ExpectTrains(kTransformer, {"SwiGLU"}, std::string("amp: {level: ") + level + ", dtype: bf16}\n");
}

TEST(OpsCustom, WrongShapesAreSaidWithTheirPlace) {
  for (const char* mode : {"graph", "pynative"}) {
    const RunCase run(Sections(R"(    - flatten
    - {linear: {out: 7}}
    - {split: {parts: 2, outputs: [gate, up]}}
    - {op: {domain: org.tenon.custom, type: SwiGLU, input: [gate, up], name: gated}}
    - {linear: {out: 4}}
)",
                               mode));
    const ToolResult result = run.Train();
    EXPECT_EQ(result.exit_code, 2) << mode << result.err;
    for (const char* part : {"Gate and Up need the same size on axis 1.", "4", "3", "ops_custom.so", "gated"})
      EXPECT_NE(result.err.find(part), std::string::npos) << mode << ": " << part << " in\n" << result.err;
    EXPECT_EQ(result.err.rfind(run.config() + ":", 0), 0U) << mode << "\n" << result.err;
  }
}

}  // namespace
}  // namespace tenon

// Gradient operators named directly: whatever their kernels trust is refused by their shape rules. What the errors say
// stands in gradient_rule.expect; TENON_UPDATE_EXPECT=1 writes it anew, to be read and committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/ops_custom/custom_case.h"
#include "tests/support/tool_run.h"

namespace tenon {
namespace {

using namespace testing_support;

struct Input {
  std::string name;
  api::Shape shape;
  std::vector<std::size_t> free = {};  // axes whose size nothing else fixes
  bool whole = false;                  // i64
};
struct GradientCase {
  std::string op;
  std::vector<Input> inputs;
  int outputs;
  api::Attributes attributes = {};
};

const std::vector<GradientCase>& Cases() {
  static const auto* const all = new std::vector<GradientCase>{
      {"AttentionGrad",
       {{"dY", {2, 4, 5, 7}},
        {"Y", {2, 4, 5, 7}},
        {"LogSumExp", {2, 4, 5}},
        {"Q", {2, 4, 5, 6}},
        {"K", {2, 2, 3, 6}},
        {"V", {2, 2, 3, 7}}},
       3},
      {"CTCLossGrad",
       {{"dY", {2}},
        {"Alpha", {2, 5, 7}},
        {"Losses", {2}},
        {"LogProbs", {5, 2, 4}, {2}},
        {"Targets", {2, 3}, {}, true},
        {"InputLengths", {2}, {}, true},
        {"TargetLengths", {2}, {}, true}},
       1,
       {{"reduction", "none"}}},
      {"CTCLossGrad",
       {{"dY", {}},
        {"Alpha", {2, 5, 7}},
        {"Losses", {2}},
        {"LogProbs", {5, 2, 4}, {2}},
        {"Targets", {2, 3}, {}, true},
        {"InputLengths", {2}, {}, true},
        {"TargetLengths", {2}, {}, true}},
       1,
       {{"reduction", "sum"}}},
      {"DeformConvGrad",
       {{"dY", {2, 4, 5, 5}},
        {"X", {2, 2, 6, 6}},
        {"Weight", {4, 2, 2, 2}},
        {"Offset", {2, 8, 5, 5}},
        {"Bias", {4}},
        {"Mask", {2, 4, 5, 5}}},
       5},
      {"EmbeddingBagGrad",
       {{"dY", {3, 4}}, {"Weight", {5, 4}, {0}}, {"Indices", {6}, {0}, true}, {"Offsets", {3}, {}, true}},
       1},
      {"RotaryEmbeddingGrad", {{"dY", {2, 3, 4, 6}, {0, 1, 2}}}, 1},
      {"SigmoidFocalLossGrad", {{"dY", {2, 3}}, {"X", {2, 3}}, {"Targets", {2, 3}}}, 1},
      {"SigmoidFocalLossGrad", {{"dY", {}}, {"X", {2, 3}}, {"Targets", {2, 3}}}, 1, {{"reduction", "mean"}}},
      {"SoftmaxCrossEntropyGrad",
       {{"dY", {3}}, {"LogSumExp", {3}}, {"Logits", {3, 4}, {1}}, {"Labels", {3}, {}, true}},
       1,
       {{"reduction", "none"}}},
      {"SoftmaxCrossEntropyGrad",
       {{"dY", {}}, {"LogSumExp", {3}}, {"Logits", {3, 4}, {1}}, {"Labels", {3}, {}, true}},
       1},
      {"SwiGLUGrad", {{"dY", {2, 3}}, {"Gate", {2, 3}}, {"Up", {2, 3}}}, 2},
  };
  return *all;
}

api::Tensor Zeros(const api::Shape& shape, bool whole) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  if (whole) return api::Tensor::Of(AnyRuntime(), shape, std::vector<std::int64_t>(count));
  return api::Tensor::Of(AnyRuntime(), shape, std::vector<float>(count));
}
std::vector<api::Tensor> Tensors(const std::vector<Input>& inputs) {
  std::vector<api::Tensor> tensors;
  for (const Input& input : inputs) tensors.push_back(Zeros(input.shape, input.whole));
  return tensors;
}

// The first line of the error; empty when there is none.
std::string Refusal(const GradientCase& one, const std::vector<Input>& inputs) {
  try {
    api::Op("org.tenon.custom." + one.op, Tensors(inputs), one.attributes, one.outputs);
    return "";
  } catch (const api::Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

TEST(GradientRule, TakesWhatFits) {
  for (const GradientCase& one : Cases()) EXPECT_EQ(Refusal(one, one.inputs), "") << one.op;
}

TEST(GradientRule, RefusesEachInputOfAnotherRankSizeOrType) {
  std::string said;
  for (const GradientCase& one : Cases()) {
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const auto refuse = [&](const std::string& wrong, const auto& change) {
        std::vector<Input> inputs = one.inputs;
        change(inputs[i]);
        const std::string text = Refusal(one, inputs), what = one.op + ", " + wrong + " of " + inputs[i].name;
        EXPECT_NE(text, "") << what << " is not refused";
        said += what + ": " + text + "\n";
      };
      refuse("rank", [](Input& input) { input.shape.insert(input.shape.begin(), 1); });
      for (std::size_t axis = 0; axis < one.inputs[i].shape.size(); ++axis) {
        const std::vector<std::size_t>& free = one.inputs[i].free;
        if (std::find(free.begin(), free.end(), axis) != free.end()) continue;
        refuse("size " + std::to_string(axis), [&](Input& input) { ++input.shape[axis]; });
      }
      refuse("type", [](Input& input) { input.whole = !input.whole; });
    }
  }
  const std::string golden = std::string(TENON_SOURCE_DIR) + "/tests/ops_custom/gradient_rule.expect";
  if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) WriteFile(golden, said);
  EXPECT_EQ(said, ReadFile(golden));
}

TEST(GradientRule, TypesOfOneGroupAreOne) {
  const api::Tensor narrow = api::Tensor::FromHost(AnyRuntime(), api::DType::kBF16, {1}, "\0\0");
  const api::Tensor wide = Zeros({1}, false);
  ExpectRefused("SwiGLUGrad", {narrow, wide, wide}, {}, {"dY", "Gate", "bfloat16", "float32"});
}

TEST(GradientRule, AbsentInputsHaveGradientsWithoutElements) {
  const auto tensor = [](const api::Shape& shape) { return Zeros(shape, false); };
  const std::vector<api::Tensor> given = {
      tensor({2, 4, 5, 5}), tensor({2, 2, 6, 6}), tensor({4, 2, 2, 2}), tensor({2, 8, 5, 5}), {}, tensor({2, 4, 5, 5})};
  const std::vector<api::Tensor> gradients = api::Op("org.tenon.custom.DeformConvGrad", given, {}, 5);
  ASSERT_EQ(gradients.size(), 5U);
  EXPECT_EQ(gradients[0].shape(), (api::Shape{2, 2, 6, 6}));
  EXPECT_EQ(gradients[3].shape(), (api::Shape{0}));
  EXPECT_EQ(gradients[4].shape(), (api::Shape{2, 4, 5, 5}));
}

}  // namespace
}  // namespace tenon

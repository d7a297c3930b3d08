#include "core/train/checkpoint_match.h"

#include <gtest/gtest.h>

#include "core/train/checkpoint_state.h"

namespace tenon {
namespace {

const std::vector<TensorTarget> kTargets = {{"fc.weight", DType::kF32, Shape{3, 4}},
                                            {"fc.bias", DType::kF32, Shape{3}},
                                            {"out.weight", DType::kF32, Shape{2, 3}},
                                            {"out.bias", DType::kF32, Shape{2}}};

Checkpoint Fitting() {
  Checkpoint checkpoint;
  for (const TensorTarget& target : kTargets) checkpoint.Add(target.name, Tensor(target.dtype, target.shape));
  return checkpoint;
}

std::string ErrorOf(const Result<MatchReport>& result) { return result.ok() ? "" : result.status().message(); }

TEST(MatchTensors, AllFit) {
  const Checkpoint checkpoint = Fitting();
  const auto report = MatchTensors(checkpoint, kTargets, {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->loaded, 4);
  EXPECT_EQ(report->tensors[2], &checkpoint.tensors[2].tensor);
}

// G51: everything wrong at once gives one error with everything.
TEST(MatchTensors, OneErrorListsEveryProblem) {
  Checkpoint checkpoint;
  checkpoint.Add("fc.weight", Tensor(DType::kF32, Shape{4, 3}));  // equal element count
  checkpoint.Add("fc.bias", Tensor(DType::kF16, Shape{3}));
  checkpoint.Add("out.weight", Tensor(DType::kF32, Shape{2, 3}));
  checkpoint.Add("moment1.fc.weight", Tensor(DType::kF32, Shape{3, 4}));
  const std::string error = ErrorOf(MatchTensors(checkpoint, kTargets, {}));
  EXPECT_NE(error.find("1 missing, 2 mismatched, 1 extra"), std::string::npos) << error;
  EXPECT_NE(error.find("missing: out.bias"), std::string::npos);
  EXPECT_NE(error.find("fc.weight: the file has float32[4,3], the network needs float32[3,4]"), std::string::npos)
      << error;
  EXPECT_NE(error.find("fc.bias: the file has float16[3], the network needs float32[3]; save it as float32\n"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("extra: moment1.fc.weight"), std::string::npos);
}

TEST(MatchTensors, LenientCounts) {
  Checkpoint checkpoint;
  checkpoint.Add("fc.weight", Tensor(DType::kF32, Shape{4, 3}));
  checkpoint.Add("out.weight", Tensor(DType::kF32, Shape{2, 3}));
  checkpoint.Add("other", Tensor(DType::kF32, Shape{1}));
  const auto report = MatchTensors(checkpoint, kTargets, {.lenient = true});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->Counts(), "Loaded 1 tensor, 2 missing, 1 extra, 1 mismatched.");
  EXPECT_EQ(report->tensors[0], nullptr);
  EXPECT_NE(report->tensors[2], nullptr);
}

TEST(MatchTensors, LenientFailsWhenNothingFits) {
  Checkpoint checkpoint;
  for (const TensorTarget& target : kTargets)
    checkpoint.Add("model." + target.name, Tensor(target.dtype, target.shape));
  const std::string error = ErrorOf(MatchTensors(checkpoint, kTargets, {.lenient = true}));
  EXPECT_NE(error.find("Nothing in the checkpoint fits"), std::string::npos) << error;
  EXPECT_NE(error.find("begin with 'model.'"), std::string::npos) << error;
  const auto renamed = MatchTensors(checkpoint, kTargets, {.rename = {{"model.", ""}}});
  ASSERT_TRUE(renamed.ok()) << renamed.status().ToString();
  EXPECT_EQ(renamed->loaded, 4);
}

TEST(MatchTensors, RenameRules) {
  Checkpoint checkpoint;
  checkpoint.Add("a.x", Tensor(DType::kF32, Shape{1}));
  checkpoint.Add("a.b.y", Tensor(DType::kF32, Shape{1}));
  checkpoint.Add("a.b.z", Tensor(DType::kF32, Shape{1}));
  const std::vector<TensorTarget> targets = {
      {"n.x", DType::kF32, Shape{1}}, {"m.y", DType::kF32, Shape{1}}, {"last", DType::kF32, Shape{1}}};
  MatchOptions options;
  options.rename = {{"a.", "n."}, {"a.b.", "m."}, {"a.b.z", "last"}};
  EXPECT_TRUE(MatchTensors(checkpoint, targets, options).ok());
  options.rename = {{"a.x", "same"}, {"a.b.y", "same"}};
  EXPECT_NE(ErrorOf(MatchTensors(checkpoint, targets, options)).find("both called 'same'"), std::string::npos);
}

TEST(MatchTensors, TellsWhatRenameHasTakenAway) {
  MatchOptions options;
  options.rename = {{"fc.", "head."}};
  options.lenient_by = "--lenient";
  const std::string error = ErrorOf(MatchTensors(Fitting(), kTargets, options));
  EXPECT_NE(error.find("missing: fc.bias (the file has it, but 'rename' makes it 'head.bias')"), std::string::npos)
      << error;
  EXPECT_NE(error.find("\n--lenient takes the 2 tensors that fit and leaves the rest as it starts."), std::string::npos)
      << error;
}

TEST(MatchTensors, IgnoredNamesAreNoDifference) {
  RunState state;
  state.parameters = Fitting().tensors;
  MatchOptions options;
  options.ignore = [](const std::string& name) { return IsRunScalarName(name); };
  const auto report = MatchTensors(ToCheckpoint(state), kTargets, options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(IsOptimizerStateName("moments.fc.weight"));
  EXPECT_FALSE(IsOptimizerStateName("fc.weight"));
}

}  // namespace
}  // namespace tenon

// Steps of several ranks against one rank with all their samples: the same mean, whoever counts how much. Ranks are threads.
#include <gtest/gtest.h>

#include <mutex>

#include "tests/e2e/step_session.h"
#include "tests/support/rank_threads.h"
#include "tests/unit/data/data_files.h"

namespace tenon {
namespace {

using testing::Folder;
using testing_support::RunOnRanks;
using Values = std::map<std::string, std::vector<double>>;

struct Trained {
  std::vector<double> losses;
  Values values;
};

std::string WithBatch(const std::string& data, std::int64_t batch) {
  std::string text = data;
  text.replace(text.find("BATCH"), 5, std::to_string(batch));
  return text;
}

Trained TrainAlone(const std::string& sections, std::int64_t batch, std::int64_t epochs) {
  StepSession session(WithBatch(sections, batch));
  session.Prepare();
  Trained trained;
  trained.losses = session.TrainEpochs(epochs, 0.05);
  trained.values = session.Values();
  return trained;
}

std::vector<Trained> TrainTogether(const std::string& sections, std::uint32_t ranks, std::int64_t batch,
                                   std::int64_t epochs) {
  std::vector<Trained> trained(ranks);
  RunOnRanks(ranks, [&](Communicator& comm) {
    StepSession session(WithBatch(sections, batch), &comm);
    session.Prepare();
    trained[comm.rank()].losses = session.TrainEpochs(epochs, 0.05);
    trained[comm.rank()].values = session.Values();
  });
  return trained;
}

void ExpectNear(const Trained& got, const Trained& expected, double tolerance) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], expected.losses[i], tolerance * (1 + std::abs(expected.losses[i]))) << "step " << i;
  for (const auto& [name, values] : expected.values) {
    ASSERT_EQ(got.values.at(name).size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got.values.at(name)[i], values[i], tolerance * (1 + std::abs(values[i]))) << name << " " << i;
  }
}

void ExpectSame(const std::vector<Trained>& ranks) {
  for (const Trained& rank : ranks) EXPECT_EQ(rank.values, ranks[0].values);
}

class RankSteps : public ::testing::TestWithParam<const char*> {
 protected:
  std::string mode() const { return std::string("mode: ") + GetParam() + "\n"; }
};

// 5 rows a step: 3 and 2 on two ranks, 2, 2 and 1 on three; the last step of an epoch has 2 rows, so that a third rank has none.
TEST_P(RankSteps, UnequalCountsGiveTheMeanOfAll) {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 17; ++i) rows += fmt::format("{},{},{},{}\n", i % 5, (i * i) % 7, (3 * i) % 4, i % 3);
  const std::string sections = mode() + "data: {type: csv, path: " + folder.Write("rows.csv", rows) +
                               ", batch: BATCH}\nnetwork: {zoo: mlp, args: {hidden: [6], num_classes: 3}}\n"
                               "optimizer: {type: sgd, momentum: 0.9}\n";
  const Trained expected = TrainAlone(sections, 6, 3);
  for (const std::uint32_t ranks : {2u, 3u}) {
    const auto trained = TrainTogether(sections, ranks, 6 / ranks, 3);
    for (const Trained& rank : trained) ExpectNear(rank, expected, 1e-5);
    ExpectSame(trained);
  }
}

// Lines of very different length: what a rank's labels count differs in every step, and a line alone in its step leaves the other
// rank without any.
std::string MaskedLines(const Folder& folder, const std::string& mode) {
  std::string text;
  for (std::size_t i = 0; i < 23; ++i) text += std::string(i * i % 11 + 1, static_cast<char>('a' + i % 4)) + "b\n";
  return mode + "data: {type: text, path: " + folder.Write("lines.txt", text) +
         ", batch: BATCH, tokens: {unit: characters, length: 14, lines: true}}\n"
         "network: {layers: [{embedding: {rows: 6, dim: 5}}, {linear: {out: 6}}]}\n"
         "loss: {type: softmax_cross_entropy, ignore_index: -100}\noptimizer: {type: adamw}\n";
}

TEST_P(RankSteps, MaskedTokensCountOnceEach) {
  const Folder folder;
  const std::string sections = MaskedLines(folder, mode());
  const Trained expected = TrainAlone(sections, 4, 2);
  const auto trained = TrainTogether(sections, 2, 2, 2);
  for (const Trained& rank : trained) ExpectNear(rank, expected, 1e-5);
  ExpectSame(trained);
}

std::string SyncBatchNorm(int samples) {
  return "data: {type: synthetic, samples: " + std::to_string(samples) +
         ", classes: 4, batch: BATCH, image: {shape: [2, 6, 5]}}\n"
         "network: {layers: [{conv: {out: 4, kernel: 3}}, {batch_norm: {}}, {relu: {}}, {conv: {out: 5, kernel: 2}}, "
         "{batch_norm: {momentum: 0.7}}, {relu: {}}, {flatten: {}}, {linear: {out: 4}}]}\n"
         "optimizer: {type: sgd, momentum: 0.9}\nparallel: {sync_batch_norm: true}\n";
}

TEST_P(RankSteps, SyncBatchNormIsThatOfAllSamples) {
  const std::string sections = mode() + SyncBatchNorm(25);
  const Trained expected = TrainAlone(sections, 12, 3);  // 12, 12 and 1 samples a step: all ranks but one have none
  for (const std::uint32_t ranks : {2u, 4u}) {
    const auto trained = TrainTogether(sections, ranks, 12 / ranks, 3);
    for (const Trained& rank : trained) ExpectNear(rank, expected, 1e-5);
    ExpectSame(trained);
  }
}

// Of each batch of a step. In the last step ranks have other numbers of samples in a batch, or none; with weights of classes their
// batches always count differently.
TEST_P(RankSteps, SyncBatchNormAddsUpBatches) {
  for (const int samples : {25, 29, 31})
    for (const char* loss : {"", "loss: {type: softmax_cross_entropy, class_weights: [1, 5, 0.2, 2]}\n"}) {
      const std::string sections = mode() + SyncBatchNorm(samples) + loss + "train: {accumulate: 2}\n";
      const Trained expected = TrainAlone(sections, 6, 3);
      const auto trained = TrainTogether(sections, 3, 2, 3);
      for (const Trained& rank : trained) ExpectNear(rank, expected, 1e-5);
      ExpectSame(trained);
    }
}

// A rank whose labels are all ignored, or weigh nothing, has samples all the same: one rank would normalise with them too.
TEST_P(RankSteps, SyncBatchNormSeesSamplesThatDoNotCount) {
  for (const char* loss : {"ignore_index: 1", "class_weights: [0, 1, 0, 2]"})
    for (const int batches : {1, 2}) {
      const std::string sections =
          mode() + SyncBatchNorm(29) +
          fmt::format("loss: {{type: softmax_cross_entropy, {}}}\ntrain: {{accumulate: {}}}\n", loss, batches);
      const Trained expected = TrainAlone(sections, 3, 3);
      const auto trained = TrainTogether(sections, 3, 1, 3);
      for (const Trained& rank : trained) ExpectNear(rank, expected, 1e-5);
      ExpectSame(trained);
    }
}

// The norms stay exact: what differs is a rounding to bf16 here and there.
TEST_P(RankSteps, SyncBatchNormGoesWithMixedPrecision) {
  const std::string sections = mode() + SyncBatchNorm(25) + "amp: bf16\n";
  const Trained expected = TrainAlone(sections, 12, 2), exact = TrainAlone(mode() + SyncBatchNorm(25), 12, 2);
  const auto trained = TrainTogether(sections, 2, 6, 2);
  for (const Trained& rank : trained) ExpectNear(rank, expected, 0.04);
  EXPECT_NE(trained[0].losses, exact.losses);
  ExpectSame(trained);
}

// Short gradients lead where exact ones lead, within their rounding.
TEST_P(RankSteps, ShortGradientsTrainAsWell) {
  const std::string sections =
      mode() +
      "data: {type: synthetic, samples: 48, classes: 4, batch: BATCH, image: {shape: [1, 6, 6]}}\n"
      "network: {zoo: mlp, args: {hidden: [32], num_classes: 4}}\n";
  const Trained expected = TrainAlone(sections, 16, 20);
  ASSERT_LT(expected.losses.back(), 0.8 * expected.losses.front());
  for (const char* option : {"wire: bf16", "wire: fp16", "hook: {type: powersgd, rank: 2}"}) {
    const auto trained = TrainTogether(sections + "parallel: {" + option + "}\n", 2, 8, 20);
    ExpectSame(trained);
    const bool wire = std::string(option).starts_with("wire");
    EXPECT_NEAR(trained[0].losses.back(), expected.losses.back(), (wire ? 0.02 : 0.3) * expected.losses.back())
        << option;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RankSteps, ::testing::Values("graph", "pynative"));

}  // namespace
}  // namespace tenon

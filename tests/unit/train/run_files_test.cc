#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "core/train/event_file.h"
#include "core/train/metrics_file.h"
#include "core/train/progress.h"
#include "core/train/run_summary.h"
#include "core/train/step_times.h"
#include "core/train/wire_reader.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;

TEST(MetricsFile, Lines) {
  TempFolder folder;
  WriteFile(folder / "metrics.jsonl", "of an earlier run\n");
  auto file = MetricsFile::Open(folder / "metrics.jsonl");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->WriteStep(10, 1, 0.1F, 0.02, 0.375).ok());
  ASSERT_TRUE(file->WriteStep(20, 1, std::nan(""), 1e-5, INFINITY).ok());
  const Metric metrics[] = {{"test_loss", 0.25}, {"test_accuracy", 1}};
  ASSERT_TRUE(file->WriteEvaluation(20, 1, metrics).ok());
  EXPECT_EQ(ReadFile(folder / "metrics.jsonl"),
            "{\"step\": 10, \"epoch\": 1, \"loss\": 0.1, \"lr\": 0.02, \"step_ms\": 0.375}\n"
            "{\"step\": 20, \"epoch\": 1, \"loss\": null, \"lr\": 1e-05, \"step_ms\": null}\n"
            "{\"step\": 20, \"epoch\": 1, \"test_loss\": 0.25, \"test_accuracy\": 1}\n");
}

TEST(MetricsFile, AResumedRunGoesOn) {
  TempFolder folder;
  const std::string path = folder / "metrics.jsonl";
  WriteFile(path, "{\"step\": 1, \"epoch\": 1}\n{\"step\": 2, \"epoch\": 1}\n{\"step\": 3, \"epoch\": 1}\n{\"st");
  auto file = MetricsFile::Open(path, 2);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->WriteEvaluation(3, 1, {}).ok());
  EXPECT_EQ(ReadFile(path), "{\"step\": 1, \"epoch\": 1}\n{\"step\": 2, \"epoch\": 1}\n{\"step\": 3, \"epoch\": 1}\n");
  auto again = MetricsFile::Open(path, 3);
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(again->WriteEvaluation(3, 1, {}).ok());
  EXPECT_EQ(ReadFile(path), "{\"step\": 1, \"epoch\": 1}\n{\"step\": 2, \"epoch\": 1}\n{\"step\": 3, \"epoch\": 1}\n");
  EXPECT_TRUE(MetricsFile::Open(folder / "new.jsonl", 2).ok());
  EXPECT_FALSE(MetricsFile::Open(folder / "no/folder.jsonl").ok());
}

TEST(EventFile, KnownChecksums) {
  EXPECT_EQ(Crc32c(0, "123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(Crc32c(0, "1234"), "56789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8a9136aaU);
}

// The events of a file, each as its bytes; checks the framing.
std::vector<std::string> Records(const std::string& text) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    std::memcpy(&length, text.data() + at, 8);
    std::memcpy(&crc, text.data() + at + 8, 4);
    EXPECT_EQ(crc, MaskedCrc32c(text.substr(at, 8)));
    records.push_back(text.substr(at + 12, length));
    std::memcpy(&crc, text.data() + at + 12 + length, 4);
    EXPECT_EQ(crc, MaskedCrc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

TEST(EventFile, Records) {
  TempFolder folder;
  auto file = EventFile::Create(folder.path(), 7);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->AddScalar(300, "train/loss", 0.5).ok());
  EXPECT_NE(file->path().find("/events.out.tfevents."), std::string::npos);
  const std::vector<std::string> records = Records(ReadFile(file->path()));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].substr(9),
            "\x1a\x0d"
            "brain.Event:2");
  EXPECT_EQ(records[1].substr(9), std::string("\x10\x08\x3a\x02\x08\x01"));
  EXPECT_EQ(records[2].substr(9),
            std::string("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x00\x3f", 24));
}

TEST(RunSummary, HasEveryKeyInOrder) {
  RunSummary summary;
  summary.test_loss = std::nan("");
  summary.train_loss = {1.5, INFINITY};
  summary.kernels["Conv"] = {3, 1};
  const auto json = nlohmann::ordered_json::parse(ToJson(summary));
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"status",
                                            "reason",
                                            "seed",
                                            "device",
                                            "mode",
                                            "math",
                                            "threads",
                                            "epochs",
                                            "steps",
                                            "train_loss",
                                            "test_loss",
                                            "test_accuracy",
                                            "test_metrics",
                                            "samples_per_s",
                                            "step_ms",
                                            "data_wait_share",
                                            "first_step_ms",
                                            "peak_rss_mb",
                                            "device_peak_mb",
                                            "plan_mb",
                                            "kernels",
                                            "fusions",
                                            "plan_cache",
                                            "fallbacks",
                                            "copies",
                                            "skipped_samples",
                                            "skipped_steps",
                                            "weights_sha256",
                                            "plugins",
                                            "warnings",
                                            "rank",
                                            "world_size",
                                            "schedule",
                                            "accumulate",
                                            "clipping",
                                            "parameter_groups",
                                            "frozen_parameters",
                                            "init_from",
                                            "ema",
                                            "early_stop",
                                            "validation_metrics",
                                            "confusion_matrix",
                                            "recomputed_nodes"}));
  EXPECT_TRUE(json["test_loss"].is_null());
  EXPECT_TRUE(json["train_loss"][1].is_null());
  EXPECT_EQ(json["kernels"]["Conv"]["reference"], 1);
  TempFolder folder;
  ASSERT_TRUE(WriteRunSummary(summary, folder / "summary.json").ok());
  EXPECT_EQ(ReadFile(folder / "summary.json"), ToJson(summary));
}

TEST(StepTimes, Quantiles) {
  StepTimes times;
  EXPECT_FALSE(times.Quantile(0.5).has_value());
  for (int i = 1; i <= 100; ++i) times.Add(i);
  EXPECT_NEAR(*times.Quantile(0.5), 50, 0.5);
  EXPECT_NEAR(*times.Quantile(0.99), 99, 1);
  EXPECT_NEAR(*times.Mean(), 50.5, 1e-9);
  times.Add(0);
  times.Add(1e12);
  EXPECT_EQ(times.count(), 102);
}

TEST(Progress, Lines) {
  ProgressState state{3, 20, 12, 40, 0.3125, 0.02, 12345};
  EXPECT_EQ(FormatProgress(state, 10), "epoch 3/20 [===       ] 12/40  loss 0.3125  lr 0.02  12.3k samples/s");
  EXPECT_EQ(FormatProgress(state, 0), "epoch 3/20 step 12/40  loss 0.3125  lr 0.02  12.3k samples/s");
  state.steps = 0;
  state.samples_per_s = 0;
  EXPECT_EQ(FormatProgress(state, 10), "epoch 3/20 12  loss 0.3125  lr 0.02");
  EXPECT_EQ(FormatRate(950), "950");
  EXPECT_EQ(FormatRate(4560000), "4.56M");
}

TEST(Progress, ElsewherePlainLines) {
  TempFolder folder;
  std::FILE* out = std::fopen((folder / "out").c_str(), "w");
  {
    Progress progress(out);
    progress.Show({});  // too soon
    progress.Line("epoch 1/2  loss 0.5");
  }
  std::fclose(out);
  EXPECT_EQ(ReadFile(folder / "out"), "epoch 1/2  loss 0.5\n");
}

TEST(Progress, NothingWithoutAStream) {
  Progress progress(nullptr);
  EXPECT_FALSE(progress.Due());
  progress.Line("dropped");
}

}  // namespace
}  // namespace tenon

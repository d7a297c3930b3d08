// tenon train --profile: the trace, the table and what becomes of the file.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/e2e/run_case.h"
#include "tests/support/trace_check.h"

namespace tenon {
namespace {

using testing_support::CheckTrace;
using testing_support::ReadFile;
using testing_support::RunCase;
using testing_support::ToolResult;
using testing_support::WriteFile;

constexpr const char* kSmall =
    "data: {type: synthetic, samples: 30, classes: 3, image: {shape: [1, 4, 4]}, batch: 10, split: {test: 0.2}}\n"
    "network: {layers: [flatten, {linear: {out: 8}}, relu, {linear: {out: 3}}]}\n"
    "train: {epochs: 2}\n";

nlohmann::json ReadTrace(const std::string& path) { return nlohmann::json::parse(ReadFile(path)); }

// Spans by category.
std::map<std::string, std::int64_t> Categories(const nlohmann::json& trace) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") ++counts[event.at("cat")];
  }
  return counts;
}
std::set<std::int64_t> Steps(const nlohmann::json& trace) {
  std::set<std::int64_t> steps;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("name") == "step")
      steps.insert(event.at("args").at("step").get<std::int64_t>());
  }
  return steps;
}
std::int64_t CountNamed(const nlohmann::json& trace, const std::string& name) {
  std::int64_t count = 0;
  for (const auto& event : trace.at("traceEvents")) count += event.at("ph") == "X" && event.at("name") == name ? 1 : 0;
  return count;
}

// The first epochs of the shipped run, in both modes.
TEST(Profile, LenetDigits) {
  const std::string config = std::string(TENON_SOURCE_DIR) + "/configs/train/lenet_digits.yaml";
  for (const char* mode : {"graph", "pynative"}) {
    const testing_support::TempFolder folder;
    const std::string path = folder / "trace.json";
    const ToolResult result =
        testing_support::RunTool({"tenon", "train", config, "--output", folder / "out", "--profile", path, "--set",
                                  "train.steps=40", "--set", std::string("mode=") + mode});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json trace = ReadTrace(path);
    EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{}) << mode;
    EXPECT_EQ(Steps(trace).size(), 40U);
    EXPECT_EQ(*Steps(trace).rbegin(), 40);
    EXPECT_EQ(CountNamed(trace, "evaluation"), 1);
    EXPECT_EQ(CountNamed(trace, "checkpoint"), 1);
    EXPECT_GE(CountNamed(trace, "data wait"), 40);
    EXPECT_EQ(CountNamed(trace, "forward"), 40);
    auto categories = Categories(trace);
    for (const char* category : {"forward", "backward", "update", "evaluate", "copy", "kernel", "run"})
      EXPECT_GT(categories[category], 0) << category << " in " << mode;
    // Every kernel record has its node, and the node is told by name.
    std::set<std::string> nodes;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X" || event.at("cat") != "kernel") continue;
      ASSERT_TRUE(event.at("args").contains("node")) << event.dump();
      nodes.insert(event.at("args").at("node").get<std::string>());
    }
    bool conv1 = false;
    for (const std::string& node : nodes) conv1 = conv1 || node.find("conv1") != std::string::npos;
    EXPECT_TRUE(conv1) << mode;
    EXPECT_NE(result.out.find("operator"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("device_cpu.so/"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("(0 dropped)"), std::string::npos) << result.out;
  }
}

// A device beside the host with a clock of its own: kernels on its stream, transfers on its copy engine.
TEST(Profile, ADeviceWithQueues) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const RunCase run(kSmall);
    const std::string path = run.folder() / "t.json";
    const ToolResult result = run.Train({"device=npu", mode}, {"--profile", path});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json trace = ReadTrace(path);
    EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{}) << mode;
    EXPECT_EQ(trace.at("otherData").at("unclocked"), 0);
    std::map<std::string, std::int64_t> threads;  // of the device, by name
    std::int64_t pid = -1, flows = 0, kernels = 0, waits = 0;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("name") == "process_name" && event.at("args").at("name") == "npu:0 (org.tenon.device_npu)")
        pid = event.at("pid");
      if (event.at("name") == "thread_name" && event.at("pid") == pid)
        threads[event.at("args").at("name")] = event.at("tid");
    }
    ASSERT_EQ(threads.count("stream 1"), 1U);
    ASSERT_EQ(threads.count("stream 1001"), 1U);
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") == "f" && event.at("pid") == pid) ++flows;
      if (event.at("ph") != "X") continue;
      if (event.at("name") == "device wait") ++waits;
      if (event.at("pid") != pid) continue;
      EXPECT_EQ(event.at("tid"),
                threads[event.at("cat") == "kernel" || event.at("name") == "reorder" ? "stream 1" : "stream 1001"])
          << event.dump();
      kernels += event.at("cat") == "kernel" ? 1 : 0;
    }
    EXPECT_GT(kernels, 0);
    EXPECT_GT(waits, 0);
    EXPECT_GT(flows, kernels / 2) << kernels;
  }
}

// The profile only watches: the same weights with and without it.
TEST(Profile, ChangesNothing) {
  for (const char* mode : {"mode=graph", "mode=pynative"}) {
    const RunCase plain(kSmall), watched(kSmall);
    ASSERT_EQ(plain.Train({mode}).exit_code, 0);
    ASSERT_EQ(watched.Train({mode}, {"--profile", watched.folder() / "t.json"}).exit_code, 0);
    EXPECT_EQ(plain.Summary().at("weights_sha256"), watched.Summary().at("weights_sha256")) << mode;
    EXPECT_FALSE(plain.Summary().contains("profile"));
    EXPECT_EQ(watched.Summary().at("profile").at("file"), watched.folder() / "t.json");
    EXPECT_EQ(watched.Summary().at("profile").at("dropped"), 0);
  }
}

// G54: a window of steps holds exactly those.
TEST(Profile, AWindowOfSteps) {
  const RunCase run(kSmall);
  const std::string path = run.folder() / "t.json";
  ASSERT_EQ(run.Train({"profile.first_step=2", "profile.last_step=3", "data.batch=5"}, {"--profile", path}).exit_code,
            0);
  const auto trace = ReadTrace(path);
  EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{});
  EXPECT_EQ(Steps(trace), (std::set<std::int64_t>{2, 3}));
  EXPECT_EQ(CountNamed(trace, "evaluation"), 0);
  const ToolResult none = run.Train({"profile.first_step=1000"}, {"--profile", path});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_NE(none.err.find("Nothing was profiled"), std::string::npos) << none.err;
}

// G54: memory is bounded, and what did not fit is told.
TEST(Profile, RecordsBeyondTheLimitAreCounted) {
  const RunCase run(kSmall);
  const std::string path = run.folder() / "t.json";
  const ToolResult result =
      run.Train({"profile.limit_mb=1", "train.epochs=400", "eval.every=0", "checkpoint.every=0"}, {"--profile", path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("records of the profile were dropped"), std::string::npos) << result.err;
  const auto trace = ReadTrace(path);
  EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{});
  EXPECT_GT(trace.at("otherData").at("dropped"), 0);
  EXPECT_EQ(trace.at("otherData").at("dropped"), run.Summary().at("profile").at("dropped"));
}

TEST(Profile, ResumedRunsAndSeeds) {
  const RunCase run(kSmall);
  const std::string path = run.folder() / "t.json";
  ASSERT_EQ(run.Train({"train.epochs=1"}).exit_code, 0);
  ASSERT_EQ(run.Train({}, {"--resume", "--profile", path}).exit_code, 0);
  EXPECT_EQ(Steps(ReadTrace(path)), (std::set<std::int64_t>{4, 5, 6}));

  const RunCase seeds(kSmall);
  const std::string name = seeds.folder() / "t.json";
  ASSERT_EQ(seeds.Train({}, {"--repeat-seeds", "3,5", "--profile", name}).exit_code, 0);
  for (const char* file : {"t_seed_3.json", "t_seed_5.json"})
    EXPECT_EQ(CheckTrace(ReadTrace(seeds.folder() / file)), std::vector<std::string>{}) << file;
  EXPECT_FALSE(std::filesystem::exists(name));
}

// The file may lie in the folder of the run, which is made later, and replaces an older one when it is complete.
TEST(Profile, TheFileInTheFolderOfTheRun) {
  const RunCase run(kSmall);
  for (int round = 0; round < 2; ++round) {
    const std::string path = run.output() + "/trace.json";
    const ToolResult result = run.Train({}, {"--profile", path});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(CheckTrace(ReadTrace(path)), std::vector<std::string>{});
  }
  const std::string path = run.folder() / "old.json";
  WriteFile(path, "old");
  ASSERT_EQ(run.Train({}, {"--profile", path}).exit_code, 0);
  EXPECT_EQ(CheckTrace(ReadTrace(path)), std::vector<std::string>{});
}

TEST(Profile, AFileThatCannotBeWrittenIsFoundFirst) {
  const RunCase run(kSmall);
  WriteFile(run.folder() / "file", "");
  for (const std::string& path :
       {run.folder() / "missing/t.json", std::string(run.folder() / ""), run.folder() / "file/t.json"}) {
    const ToolResult result = run.Train({}, {"--profile", path});
    EXPECT_EQ(result.exit_code, 2) << path << result.err;
    EXPECT_NE(result.err.find("--profile"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(run.output())) << path;
  }
  const ToolResult inside = run.Train({}, {"--profile", run.output() + "/missing/t.json"});
  EXPECT_EQ(inside.exit_code, 2) << inside.err;
  const ToolResult dry = run.Train({}, {"--dry-run", "--profile", run.folder() / "t.json"});
  EXPECT_EQ(dry.exit_code, 2);
  EXPECT_NE(dry.err.find("--dry-run trains nothing"), std::string::npos) << dry.err;
}

// L4.87: whatever the profiler of a plugin does, the run goes on, with one warning, and the others are recorded.
TEST(Profile, AFailingProfilerIsAWarning) {
  const std::pair<const char*, const char*> kCases[] = {
      {"start", "The counters are taken."},       {"clock", "The clock stopped."},
      {"stop", "The device went away."},          {"garbage", "came back broken or not at all"},
      {"kept", "came back broken or not at all"}, {"records", "have times that do not fit the run"},
  };
  for (const auto& one : kCases) {
    const RunCase run(std::string(kSmall) + "plugins: {load: [{path: " +
                      testing_support::ToolPath("../fixtures/failing_profiler/failing_profiler.so") +
                      ", options: {at: " + one.first + "}}]}\n");
    const std::string path = run.folder() / "t.json";
    const ToolResult result = run.Train({}, {"--profile", path});
    ASSERT_EQ(result.exit_code, 0) << one.first << result.err;
    const std::size_t first = result.err.find(one.second);
    EXPECT_NE(first, std::string::npos) << one.first << ": " << result.err;
    EXPECT_EQ(result.err.find(one.second, first + 1), std::string::npos) << "told twice: " << result.err;
    const auto trace = ReadTrace(path);
    EXPECT_EQ(CheckTrace(trace), std::vector<std::string>{}) << one.first;
    EXPECT_GT(Categories(trace)["kernel"], 0) << one.first;
  }
}

// A run that fails writes what it has.
TEST(Profile, AFailedRunHasATraceToo) {
  const RunCase run(kSmall);
  const std::string path = run.folder() / "t.json";
  const ToolResult result = run.Train({"optimizer={type: sgd, lr: 1.0e+30}"}, {"--profile", path});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(CheckTrace(ReadTrace(path)), std::vector<std::string>{});
}

TEST(Profile, TheWindowMustGoForward) {
  const RunCase run(kSmall);
  const ToolResult result = run.Train({"profile.first_step=5", "profile.last_step=2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'profile.last_step' (2) comes before 'profile.first_step' (5)"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace tenon

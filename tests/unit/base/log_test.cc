#include "core/base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder of its own, and an environment without logging variables.
class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/log_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    for (const char* name : kVariables) unsetenv(name);
  }
  void TearDown() override {
    for (const char* name : kVariables) unsetenv(name);
    static_cast<void>(ConfigureLog({}));
    fs::remove_all(folder_);
  }
  std::string Captured() {
    FlushLog();
    return testing::internal::GetCapturedStderr();
  }

  static constexpr const char* kVariables[] = {
      "GLOG_v",          "GLOG_logtostderr",   "GLOG_log_dir",      "GLOG_stderrthreshold", "GLOG_max_log_size",
      "logger_maxBytes", "logger_backupCount", "MS_SUBMODULE_LOG_v"};
  fs::path folder_;
};

TEST_F(LogTest, ScreenLinesAreShort) {
  ASSERT_TRUE(ConfigureLog({LogLevel::kInfo, "", LogLevel::kInfo}).ok());
  testing::internal::CaptureStderr();
  TENON_LOG(kDebug, "plugin", "not shown");
  TENON_LOG(kInfo, "plugin", "loaded {}", 3);
  TENON_LOG(kWarning, "plugin", "odd");
  TENON_LOG(kError, "plugin", "bad");
  EXPECT_EQ(Captured(), "loaded 3\nwarning: odd\nerror: bad\n");
}

TEST_F(LogTest, RepetitionsAreCounted) {
  ASSERT_TRUE(ConfigureLog({LogLevel::kInfo, "", LogLevel::kInfo}).ok());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) TENON_LOG(kInfo, "data", "same");
  TENON_LOG(kInfo, "data", "other");
  for (int i = 0; i < 3; ++i) {
    TENON_LOG(kWarning, "data", "careful");
    TENON_LOG(kInfo, "data", "step {}", i);
  }
  EXPECT_EQ(Captured(),
            "same\nsame (repeated 4 times)\nother\nwarning: careful\nstep 0\nstep 1\nstep 2\n"
            "warning: careful (repeated 2 times)\n");
}

TEST_F(LogTest, FileLinesHaveTheKnownForm) {
  const std::string path = folder_ / "log.txt";
  ASSERT_TRUE(ConfigureLog({LogLevel::kError, path, LogLevel::kInfo}).ok());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) {
    TENON_LOG(kInfo, "plugin", "line {}", i);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  EXPECT_EQ(Captured(), "");
  std::istringstream lines(ReadAll(path));
  const std::regex form(
      R"(\[INFO\] PLUGIN\(\d+,[0-9a-f]+,[^)]+\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} \[tests/unit/base/log_test\.cc:\d+\] \w+\] line \d+)");
  std::string line, last;
  int count = 0;
  while (std::getline(lines, line)) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
    const std::string time = line.substr(line.find("):") + 2, 26);
    EXPECT_LE(last, time);
    last = time;
    ++count;
  }
  EXPECT_EQ(count, 20);
}

TEST_F(LogTest, ModuleLevelBeatsTheLevel) {
  setenv("MS_SUBMODULE_LOG_v", "{MD:0,PLUGIN:3,NOPE:1}", 1);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(ConfigureLog({LogLevel::kInfo, "", LogLevel::kInfo}).ok());
  TENON_LOG(kDebug, "data", "one");
  TENON_LOG(kWarning, "plugin", "two");
  TENON_LOG(kInfo, "graph", "three");
  EXPECT_EQ(Captured(), "warning: Undefined module name NOPE, ignore it\ndebug: data: one\nthree\n");
}

TEST_F(LogTest, LevelFiles) {
  setenv("GLOG_v", "1", 1);
  setenv("GLOG_logtostderr", "0", 1);
  setenv("GLOG_log_dir", folder_.c_str(), 1);
  ASSERT_TRUE(ConfigureLog({}).ok());
  testing::internal::CaptureStderr();
  TENON_LOG(kInfo, "data", "info line");
  TENON_LOG(kWarning, "data", "warning line");
  EXPECT_EQ(Captured(), "warning: warning line\n");
  const fs::path logs = folder_ / "rank_0" / "logs";
  const std::regex name(R"(tenon\..+\..+\.log\.(INFO|WARNING)\.\d{8}-\d{6}\.)" + std::to_string(getpid()));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(logs)) {
    if (entry.is_symlink()) continue;
    EXPECT_TRUE(std::regex_match(entry.path().filename().string(), name)) << entry.path();
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
    ++files;
  }
  EXPECT_EQ(files, 2);
  EXPECT_NE(ReadAll(logs / "tenon.INFO").find("warning line"), std::string::npos);
  EXPECT_EQ(ReadAll(logs / "tenon.WARNING").find("info line"), std::string::npos);
}

TEST_F(LogTest, LevelFilesRotate) {
  setenv("GLOG_v", "1", 1);
  setenv("GLOG_logtostderr", "0", 1);
  setenv("GLOG_log_dir", folder_.c_str(), 1);
  setenv("logger_maxBytes", "2000", 1);
  setenv("logger_backupCount", "3", 1);
  ASSERT_TRUE(ConfigureLog({}).ok());
  for (int i = 0; i < 100; ++i) TENON_LOG(kInfo, "data", "a line of the log with number {}", i);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "rank_0" / "logs")) {
    if (entry.is_symlink()) continue;
    ++files;
    EXPECT_LE(entry.file_size(), 2000U);
  }
  EXPECT_EQ(files, 4);
}

TEST_F(LogTest, BadEnvironmentIsAnError) {
  setenv("GLOG_v", "abc", 1);
  EXPECT_FALSE(ConfigureLog({}).ok());
  unsetenv("GLOG_v");
  EXPECT_FALSE(ConfigureLog({LogLevel::kInfo, "/proc/nothing/log.txt", LogLevel::kInfo}).ok());
}

TEST_F(LogTest, StartsQuickly) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(ConfigureLog({}).ok());
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(std::chrono::duration<double>(took).count(), 0.5);
}

TEST_F(LogTest, ThreadsMayLogTogether) {
  const std::string path = folder_ / "log.txt";
  ASSERT_TRUE(ConfigureLog({LogLevel::kError, path, LogLevel::kInfo}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) TENON_LOG(kInfo, "data", "thread {} line {}", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  FlushLog();
  const std::string text = ReadAll(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 400);
}

}  // namespace
}  // namespace tenon

#include "core/base/log_settings.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon {
namespace {

Result<LogSettings> Read(const std::map<std::string, std::string>& variables, const LogOptions& options = {}) {
  return ReadLogSettings(options, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST(LogSettings, DefaultsAreThoseOfTheRun) {
  LogOptions options;
  options.level = LogLevel::kInfo;
  const auto settings = Read({}, options);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->level, LogLevel::kInfo);
  EXPECT_TRUE(settings->to_screen);
  EXPECT_EQ(settings->max_bytes, 50 << 20);
  EXPECT_EQ(settings->backups, 30);
}

TEST(LogSettings, EnvironmentWins) {
  LogOptions options;
  options.level = LogLevel::kInfo;
  const auto settings = Read({{"GLOG_v", "3"}, {"GLOG_max_log_size", "2"}, {"logger_backupCount", "4"}}, options);
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->level, LogLevel::kError);
  EXPECT_EQ(settings->file_level, LogLevel::kInfo);
  EXPECT_EQ(settings->max_bytes, 2 << 20);
  EXPECT_EQ(settings->backups, 4);
}

TEST(LogSettings, BadValuesAreErrors) {
  for (const char* value : {"9", "-1", "abc", "", "1x", "1.0"}) {
    const auto settings = Read({{"GLOG_v", value}});
    ASSERT_FALSE(settings.ok()) << value;
    EXPECT_NE(settings.status().message().find("GLOG_v is '" + std::string(value) + "'"), std::string::npos);
  }
  EXPECT_FALSE(Read({{"GLOG_logtostderr", "2"}}).ok());
  EXPECT_FALSE(Read({{"GLOG_stderrthreshold", "5"}}).ok());
  EXPECT_FALSE(Read({{"GLOG_max_log_size", "0"}}).ok());
  EXPECT_FALSE(Read({{"logger_backupCount", "many"}}).ok());
  EXPECT_FALSE(Read({{"GLOG_logfile_mode", "0999"}}).ok());
}

TEST(LogSettings, FilesNeedAFolder) {
  const auto without = Read({{"GLOG_logtostderr", "0"}});
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.status().message().find("GLOG_log_dir"), std::string::npos);
  const auto with = Read({{"GLOG_logtostderr", "0"}, {"GLOG_log_dir", "/logs"}, {"OMPI_COMM_WORLD_RANK", "2"}});
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->folder, "/logs/rank_2/logs");
  const auto both =
      Read({{"GLOG_logtostderr", "0"}, {"GLOG_log_dir", "/logs"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"RANK_ID", "5"}});
  EXPECT_EQ(both->folder, "/logs/rank_5/logs");
}

TEST(LogSettings, ModuleLevels) {
  LogSettings settings;
  ReadComponentLevels(" { MD : 0,\tPLUGIN:3} ", &settings);
  EXPECT_TRUE(settings.warnings.empty());
  EXPECT_EQ(settings.component_levels.at("data"), LogLevel::kDebug);
  EXPECT_EQ(settings.component_levels.at("plugin"), LogLevel::kError);
}

TEST(LogSettings, ModuleLevelWarnings) {
  LogSettings settings;
  ReadComponentLevels("{FOO:1,ME:7,MD:1}", &settings);
  ASSERT_EQ(settings.warnings.size(), 2U);
  EXPECT_EQ(settings.warnings[0], "Undefined module name FOO, ignore it");
  EXPECT_EQ(settings.warnings[1], "Illegal log level value 7 for ME, ignore it.");
  EXPECT_EQ(settings.component_levels.size(), 1U);
}

TEST(LogSettings, ASyntaxErrorIgnoresAll) {
  for (const char* text : {"MD:1", "{MD:1", "{MD 1}", "{MD:1;ME:1}", "{MD:x}", "{}", "{1:1}", "{MD:1}x", "{MD:1,}"}) {
    LogSettings settings;
    ReadComponentLevels(text, &settings);
    EXPECT_TRUE(settings.component_levels.empty()) << text;
    ASSERT_EQ(settings.warnings.size(), 1U) << text;
    EXPECT_NE(settings.warnings[0].find("expected"), std::string::npos);
  }
}

}  // namespace
}  // namespace tenon

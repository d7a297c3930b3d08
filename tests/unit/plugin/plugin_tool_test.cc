// `tenon plugin list | info | check` and `tenon doctor plugins` as functions; what they print for programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/plugin_fixtures.h"
#include "tests/support/printed.h"
#include "tests/support/temp_folder.h"
#include "tools/tenon/doctor.h"
#include "tools/tenon/plugin.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::Capture;
using testing_support::FixtureFile;
using testing_support::FixtureFolder;
using testing_support::Printed;
using testing_support::ReadFile;
using testing_support::TempFolder;
using testing_support::WriteFile;

const json* Row(const json& rows, const std::string& file) {
  for (const json& row : rows) {
    if (fs::path(row.at("path").get<std::string>()).filename() == file) return &row;
  }
  return nullptr;
}

TEST(PluginTool, ListTakesThePluginsOfAConfig) {
  const TempFolder folder;
  WriteFile(folder / "run.yaml", "plugins:\n  load:\n    - " + FixtureFile("device_null") +
                                     "\n    - {path: " + FixtureFile("good") + ", options: {level: 3}}\n");
  const Printed printed = Capture([&] { return RunPluginList({folder / "run.yaml", {}, true}); });
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  const json* device = nullptr;
  const json rows = printed.parsed();
  device = Row(rows, "device_null.so");
  ASSERT_NE(device, nullptr) << printed.out;
  for (const char* key : {"id", "path", "state", "code", "reason", "abi", "build_id", "version", "devices", "ops"})
    EXPECT_TRUE(device->contains(key)) << key;
  EXPECT_EQ(device->at("id"), "org.tenon.device_null");
  EXPECT_EQ(device->at("state"), "loaded");
  EXPECT_EQ(device->at("devices"), json::array({"null:0"}));
  EXPECT_EQ(device->at("ops"), 1);
  EXPECT_EQ(device->at("abi").at("built"), "1.0");
  EXPECT_EQ(Row(rows, "good.so")->at("state"), "loaded");
}

TEST(PluginTool, ListShowsWhatIsBroken) {
  const Printed printed = Capture([] {
    return RunPluginList(
        {"", {FixtureFolder("newer_host"), FixtureFolder("create_fails"), FixtureFolder("good")}, true});
  });
  EXPECT_EQ(printed.exit_code, 0);
  const json rows = printed.parsed();
  EXPECT_EQ(Row(rows, "newer_host.so")->at("state"), "refused");
  EXPECT_EQ(Row(rows, "newer_host.so")->at("code"), "TN-PLG-012");
  EXPECT_EQ(Row(rows, "create_fails.so")->at("code"), "TN-PLG-081");
  EXPECT_EQ(Row(rows, "good.so")->at("state"), "loaded");
}

TEST(PluginTool, ListAsTextFitsOneHundredColumns) {
  const Printed printed = Capture([] {
    return RunPluginList({"", {FixtureFolder("newer_host"), FixtureFolder("device_null")}, false});
  });
  std::size_t begin = 0;
  for (std::size_t end = printed.out.find('\n'); end != std::string::npos; end = printed.out.find('\n', begin)) {
    const std::string line = printed.out.substr(begin, end - begin);
    EXPECT_TRUE(line.size() <= 100 || line.rfind("    /", 0) == 0) << line;  // paths stay whole
    begin = end + 1;
  }
  EXPECT_NE(printed.out.find("null:0"), std::string::npos) << printed.out;
}

TEST(PluginTool, ListOfABadConfigIsTwo) {
  const TempFolder folder;
  WriteFile(folder / "run.yaml", "plugins:\n  laod: []\n");
  const Printed printed = Capture([&] { return RunPluginList({folder / "run.yaml", {}, true}); });
  EXPECT_EQ(printed.exit_code, 2);
  EXPECT_NE(printed.err.find("load"), std::string::npos) << printed.err;
}

TEST(PluginTool, InfoPrintsEverything) {
  Printed printed = Capture([] { return RunPluginInfo({{FixtureFile("good")}, true}); });
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  const json row = printed.parsed().at(0);
  EXPECT_EQ(row.at("id"), "org.tenon.fixture.good");
  EXPECT_EQ(row.at("licence"), "Apache-2.0");
  EXPECT_EQ(row.at("kinds"), json::array({"op"}));
  EXPECT_EQ(row.at("options").size(), 4U);
  printed = Capture([] { return RunPluginInfo({{FixtureFile("device_null")}, false}); });
  EXPECT_NE(printed.out.find("device       null:0  Null device"), std::string::npos) << printed.out;
  EXPECT_EQ(Capture([] { return RunPluginInfo({{"/nowhere/x.so"}, false}); }).exit_code, 3);
}

TEST(PluginTool, CheckIsThreeWhenOneWouldNotLoad) {
  EXPECT_EQ(Capture([] {
              return RunPluginCheck({{FixtureFile("good"), FixtureFile("same_id")}, false});
            }).exit_code,
            0);
  const Printed printed = Capture([] {
    return RunPluginCheck({{FixtureFile("good"), FixtureFile("undefined_symbol")}, true});
  });
  EXPECT_EQ(printed.exit_code, 3);
  EXPECT_EQ(printed.parsed().at(0).at("state"), "loaded");
  EXPECT_EQ(printed.parsed().at(1).at("code"), "TN-PLG-033");
}

TEST(PluginTool, ListInfoAndCheckSurviveAPluginThatEndsTheProcess) {
  for (const char* name : {"crashing", "exiting"}) {
    const Printed checked = Capture([&] { return RunPluginCheck({{FixtureFile("good"), FixtureFile(name)}, true}); });
    EXPECT_EQ(checked.exit_code, 3);
    EXPECT_EQ(checked.parsed().at(0).at("state"), "loaded") << checked.out;
    EXPECT_EQ(checked.parsed().at(1).at("code"), "TN-PLG-038") << checked.out;
    const Printed info = Capture([&] { return RunPluginInfo({{FixtureFile(name)}, true}); });
    EXPECT_EQ(info.exit_code, 3);
    EXPECT_NE(info.err.find("TN-PLG-038"), std::string::npos) << info.err;
    const Printed list = Capture([&] {
      return RunPluginList({"", {FixtureFolder(name), FixtureFolder("good")}, true});
    });
    EXPECT_EQ(list.exit_code, 3);
    EXPECT_EQ(Row(list.parsed(), "good.so")->at("state"), "loaded") << list.out;
    EXPECT_EQ(Row(list.parsed(), std::string(name) + ".so")->at("code"), "TN-PLG-038") << list.out;
  }
}

TEST(PluginTool, DoctorSurvivesAPluginThatEndsTheProcess) {
  const Printed printed = Capture([] {
    return RunDoctorPlugins(
        {"",
         {FixtureFolder("crashing"), FixtureFolder("exiting"), FixtureFolder("good"), FixtureFolder("other_draft")},
         true});
  });
  EXPECT_EQ(printed.exit_code, 3);
  const json rows = printed.parsed();
  EXPECT_EQ(Row(rows, "crashing.so")->at("code"), "TN-PLG-038");
  EXPECT_NE(Row(rows, "crashing.so")->at("reason").get<std::string>().find("SIGBUS"), std::string::npos) << printed.out;
  EXPECT_NE(Row(rows, "exiting.so")->at("reason").get<std::string>().find("exit code 5"), std::string::npos)
      << printed.out;
  EXPECT_EQ(Row(rows, "good.so")->at("state"), "loaded");
  EXPECT_EQ(Row(rows, "good.so")->at("fix"), "");
  EXPECT_NE(Row(rows, "other_draft.so")->at("fix"), "");
  const Printed sound = Capture([] { return RunDoctorPlugins({"", {FixtureFolder("good")}, false}); });
  EXPECT_EQ(sound.exit_code, 0) << sound.out;
}

TEST(PluginTool, NothingFoundIsNoError) {
  const Printed printed = Capture([] { return RunPluginList({"", {"/nowhere"}, false}); });
  EXPECT_EQ(printed.exit_code, 0);
}

}  // namespace
}  // namespace tenon

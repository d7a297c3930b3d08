// Every <case>.yaml in this folder fails to load with exactly the text of <case>.expect. Lines that start with "#!" set
// the case up:   #! set train.epochs=3     #! env NAME=value     #! part plugins
// With TENON_UPDATE_EXPECT=1 the .expect files are written instead, to be read and committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/train/run_config.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "tests/errors/config";

struct CaseSetup {
  ConfigSource source;
  std::map<std::string, std::string> environment;
  RunConfigPart part = RunConfigPart::kAll;
};

CaseSetup ReadSetup(const fs::path& path) {
  CaseSetup setup;
  setup.source.path = path.string();
  std::istringstream lines(testing_support::ReadFile(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#! set ", 0) == 0) setup.source.overrides.push_back(line.substr(7));
    if (line.rfind("#! env ", 0) == 0) {
      const std::size_t equals = line.find('=');
      setup.environment[line.substr(7, equals - 7)] = line.substr(equals + 1);
    }
    if (line == "#! part plugins") setup.part = RunConfigPart::kPluginsOnly;
  }
  return setup;
}

std::vector<fs::path> Cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

class ConfigErrors : public testing::TestWithParam<fs::path> {};

TEST_P(ConfigErrors, HaveTheirExactText) {
  CaseSetup setup = ReadSetup(GetParam());
  const auto environment = setup.environment;
  setup.source.environment = [environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
  const auto config = LoadRunConfig(setup.source, setup.part);
  ASSERT_FALSE(config.ok()) << GetParam() << " loads";
  const std::string text = config.status().ToString() + "\n";
  fs::path expect = GetParam();
  expect.replace_extension(".expect");
  if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) {
    std::ofstream(expect, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, testing_support::ReadFile(expect));
}

std::string CaseName(const testing::TestParamInfo<fs::path>& info) { return info.param.stem().string(); }

INSTANTIATE_TEST_SUITE_P(All, ConfigErrors, testing::ValuesIn(Cases()), CaseName);

TEST(ConfigErrors, EveryExpectationHasItsCase) {
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".expect") continue;
    fs::path yaml = entry.path();
    EXPECT_TRUE(fs::exists(yaml.replace_extension(".yaml"))) << entry.path();
  }
}

}  // namespace
}  // namespace tenon

// `tenon plugin abi-diff` and `tenon plugin check --host-abi` as functions, on the fixtures.
#include "tools/tenon/plugin_abi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/plugin_fixtures.h"
#include "tests/support/printed.h"
#include "tests/support/temp_folder.h"

namespace tenon {
namespace {

using nlohmann::json;
using testing_support::Capture;
using testing_support::FixtureFile;
using testing_support::Printed;
using testing_support::TempFolder;
using testing_support::WriteFile;

Printed Diff(const std::string& a, const std::string& b, bool as_json = true) {
  return Capture([&] { return RunPluginAbiDiff({FixtureFile(a), FixtureFile(b), as_json}); });
}
Printed Check(const std::string& file, const std::string& host) {
  return Capture([&] { return RunPluginHostAbi({{FixtureFile(file)}, host, true}); });
}

// "removed slot tenon.device.reorder"
std::vector<std::string> Lines(const json& diff) {
  std::vector<std::string> lines;
  for (const json& one : diff.at("differences"))
    lines.push_back(one.at("change").get<std::string>() + " " + one.at("what").get<std::string>() + " " +
                    one.at("name").get<std::string>());
  return lines;
}
bool Has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(PluginAbiDiff, TwoBuildsOfOnePluginAreTheSame) {
  const Printed same = Diff("good", "same_id");  // another version of it
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_TRUE(same.parsed().at("differences").empty()) << same.out;
  EXPECT_TRUE(same.parsed().at("compared"));
  EXPECT_EQ(same.parsed().at("b").at("version"), "1.1.0");
  EXPECT_NE(Diff("good", "same_id", false).out.find("no difference"), std::string::npos);
}

TEST(PluginAbiDiff, WhatIsGoneAndWhatIsNew) {
  const Printed printed = Diff("device_null", "good");
  EXPECT_EQ(printed.exit_code, 1) << printed.err;
  const auto lines = Lines(printed.parsed());
  for (const char* line :
       {"changed note id", "changed note kinds", "removed interface tenon.device", "removed interface tenon.stream",
        "removed kernel null Relu (relu)", "removed slot tenon.op.release_caches"})
    EXPECT_TRUE(Has(lines, line)) << line << " in " << printed.out;
  const auto back = Lines(Diff("good", "device_null").parsed());
  EXPECT_TRUE(Has(back, "added interface tenon.device"));
  EXPECT_TRUE(Has(back, "added kernel null Relu (relu)"));
  const std::string text = Diff("device_null", "good", false).out;
  EXPECT_NE(text.find("removed  interface tenon.device\n"), std::string::npos) << text;
}

// A table that ends earlier is a difference, even where the slot cut off was not offered.
TEST(PluginAbiDiff, ShorterTables) {
  const auto lines = Lines(Diff("good", "short_structs").parsed());
  EXPECT_TRUE(Has(lines, "changed table tenon.op"));
}

TEST(PluginAbiDiff, AFileThatCannotBeOpenedIsComparedByItsNote) {
  const Printed printed = Diff("good", "newer_host");
  EXPECT_EQ(printed.exit_code, 3);
  EXPECT_FALSE(printed.parsed().at("compared"));
  const auto lines = Lines(printed.parsed());
  EXPECT_TRUE(Has(lines, "changed note abi")) << printed.out;
  EXPECT_TRUE(Has(lines, "changed note oldest_host")) << printed.out;
  EXPECT_NE(printed.err.find("TN-PLG-012"), std::string::npos) << printed.err;
  const Printed crash = Diff("good", "crashing");
  EXPECT_EQ(crash.parsed().at("a").at("id"), "org.tenon.fixture.good");
}

TEST(PluginAbiDiff, WhatIsNoPluginIsWrongInput) {
  const TempFolder folder;
  WriteFile(folder / "text.so", "text");
  const std::string good = FixtureFile("good");
  for (const std::string& other : {folder / "text.so", folder / "absent.so", FixtureFile("no_note")}) {
    const Printed printed = Capture([&] { return RunPluginAbiDiff({good, other, false}); });
    EXPECT_EQ(printed.exit_code, 2) << other;
    EXPECT_NE(printed.err.find("TN-PLG-0"), std::string::npos) << printed.err;
  }
}

TEST(PluginHostAbi, ThisHost) {
  const Printed printed = Check("device_null", "1.0");
  EXPECT_EQ(printed.exit_code, 0) << printed.out << printed.err;
  const json row = printed.parsed().at(0);
  EXPECT_TRUE(row.at("loads"));
  EXPECT_EQ(row.at("abi_effective"), "1.0");
  const auto missing = row.at("missing").get<std::vector<std::string>>();
  EXPECT_TRUE(Has(missing, "tenon.stream.capture_begin")) << row.dump();
  EXPECT_FALSE(Has(missing, "tenon.device.reorder")) << row.dump();
  EXPECT_TRUE(row.at("unused").empty());
}

// The fixture is built for 1.9 and needs a host of 1.7.
TEST(PluginHostAbi, OlderAndNewerHosts) {
  const json refused = Check("newer_host", "1.6").parsed().at(0);
  EXPECT_FALSE(refused.at("loads"));
  EXPECT_NE(refused.at("reason").get<std::string>().find("TN-PLG-012"), std::string::npos);
  EXPECT_EQ(Check("newer_host", "1.6").exit_code, 3);
  const Printed fits = Check("newer_host", "1.7");
  EXPECT_EQ(fits.exit_code, 0) << fits.out;
  EXPECT_EQ(fits.parsed().at(0).at("abi_effective"), "1.7");
  EXPECT_FALSE(fits.parsed().at(0).at("looked_inside"));
  EXPECT_EQ(Check("newer_host", "1.12").parsed().at(0).at("abi_effective"), "1.9");
  EXPECT_EQ(Check("good", "2.0").exit_code, 3);
  EXPECT_EQ(Check("good", "1.30").exit_code, 0);
}

// What is wrong with a file beside its version is wrong for every host.
TEST(PluginHostAbi, BrokenFiles) {
  for (const char* file : {"null_slots", "no_note", "other_draft", "bad_magic"}) {
    const Printed printed = Check(file, "1.0");
    EXPECT_EQ(printed.exit_code, 3) << file;
    EXPECT_NE(printed.parsed().at(0).at("reason").get<std::string>().find("TN-PLG-0"), std::string::npos)
        << printed.out;
  }
}

TEST(PluginHostAbi, WhatIsNoVersionIsWrongUsage) {
  for (const char* version : {"", "1", "1.", "a.b", "1.0.0", "-1.0", "1.99999"}) {
    const Printed printed = Check("good", version);
    EXPECT_EQ(printed.exit_code, 2) << version;
    EXPECT_NE(printed.err.find("--host-abi takes a version"), std::string::npos) << printed.err;
  }
}

}  // namespace
}  // namespace tenon

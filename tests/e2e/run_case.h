#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/tool_run.h"

namespace tenon::testing_support {

// A run file in a folder of its own, run by `tenon train`.
class RunCase {
 public:
  // `sections` is the whole run file but `name` and `output`.
  explicit RunCase(const std::string& sections, const std::string& name = "t") : sections_(sections) {
    WriteFile(config(), "name: " + name + "\noutput: " + output() + "\n" + sections);
  }
  std::string config() const { return folder_ / "run.yaml"; }
  std::string output() const { return folder_ / "out"; }
  const TempFolder& folder() const { return folder_; }

  std::vector<std::string> Words(const std::vector<std::string>& settings = {},
                                 const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> words = {"tenon", "train", config()};
    for (const std::string& setting : settings) {
      words.push_back("--set");
      words.push_back(setting);
    }
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }
  ToolResult Train(const std::vector<std::string>& settings = {}, const std::vector<std::string>& flags = {}) const {
    return RunTool(Words(settings, flags));
  }

  nlohmann::json Summary() const { return nlohmann::json::parse(ReadFile(output() + "/summary.json"), nullptr, false); }
  // Names, sorted.
  std::vector<std::string> Files(const std::string& below = "") const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(output() + "/" + below, ignored))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Checkpoint(const std::string& position, const std::string& format = "ckpt") const {
    return ReadFile(output() + "/checkpoints/t-" + position + "." + format);
  }

 private:
  TempFolder folder_;
  std::string sections_;
};

// The numbers under these keys in metrics.jsonl of an output folder, in the order of its lines.
inline std::vector<double> LoggedNumbers(const std::string& folder, const std::vector<std::string>& keys) {
  std::vector<double> numbers;
  std::istringstream lines(ReadFile(folder + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    for (const std::string& key : keys) {
      if (row.contains(key)) numbers.push_back(row.at(key).get<double>());
    }
  }
  return numbers;
}

// As many numbers, some at least, within `tolerance` of each number that is expected, or of 1 where it is smaller.
inline void ExpectClose(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_FALSE(got.empty());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "number " << i;
}

}  // namespace tenon::testing_support

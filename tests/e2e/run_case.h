#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
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

}  // namespace tenon::testing_support

// Every <case>.yaml in this folder makes `tenon train` print exactly the text of <case>.expect, whose first line is the
// exit code. Lines that start with "#! " hold further arguments. A case is refused before the output folder is touched,
// unless "#! late" says that it fails while it trains.
// With TENON_UPDATE_EXPECT=1 the .expect files are written instead, to be read and committed.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/tool_run.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::ReadFile;
using testing_support::RunTool;
using testing_support::TempFolder;
using testing_support::ToolResult;
using testing_support::WriteFile;

constexpr const char* kFolder = "tests/errors/train";

std::vector<fs::path> Cases() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::string WithoutFolder(std::string text, const std::string& folder) {
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
    text.erase(at, folder.size());
  return text;
}

class TrainErrors : public testing::TestWithParam<fs::path> {};

TEST_P(TrainErrors, HaveTheirExactText) {
  const TempFolder folder;
  std::vector<std::string> words = {"tenon", "train", GetParam().string(), "--output", folder / "run"};
  bool late = false;
  std::istringstream lines(ReadFile(GetParam().string()));
  for (std::string line; std::getline(lines, line);) {
    if (line == "#! late") late = true;
    if (line.rfind("#! --", 0) != 0) continue;
    std::istringstream arguments(line.substr(3));
    for (std::string word; arguments >> word;) words.push_back(word);
  }
  const ToolResult result = RunTool(words);
  std::string text = WithoutFolder(result.err, std::string(TENON_SOURCE_DIR) + "/");
  text = std::to_string(result.exit_code) + "\n" + WithoutFolder(text, folder.path() + "/");
  fs::path expect = GetParam();
  expect.replace_extension(".expect");
  if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) {
    WriteFile(expect.string(), text);
    return;
  }
  EXPECT_EQ(text, ReadFile(expect.string()));
  EXPECT_EQ(fs::exists(folder / "run"), late);
}

INSTANTIATE_TEST_SUITE_P(Files, TrainErrors, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<fs::path>& one) { return one.param.stem().string(); });

}  // namespace
}  // namespace tenon

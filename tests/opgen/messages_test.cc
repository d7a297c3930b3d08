// What msopgen says, and what it leaves behind: files of operators that are wrong, folders that are taken, names.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "tests/support/tool_run.h"
#include "tools/msopgen/names.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing_support::ReadFile;
using testing_support::RunTool;
using testing_support::TempFolder;
using testing_support::ToolResult;
using testing_support::WriteFile;

const std::string kFolder = std::string(TENON_SOURCE_DIR) + "/tests/opgen/";

std::vector<std::string> FilesIn(const std::string& folder, const std::string& ending) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ending) files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

ToolResult Gen(const std::string& file, const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"msopgen", "gen", "-i", file, "-c", "cpu", "-out", out};
  words.insert(words.end(), more.begin(), more.end());
  return RunTool(words);
}

// Texts stand beside the files, with the ending .expect; TENON_UPDATE_EXPECT=1 writes them anew.
TEST(MsopgenErrors, EveryErrorAtOnceWithItsPlace) {
  const std::vector<std::string> files = FilesIn(kFolder + "bad", ".json");
  ASSERT_GE(files.size(), 15U);
  for (const std::string& file : files) {
    const std::string path = kFolder + "bad/" + file, golden = path.substr(0, path.size() - 5) + ".expect";
    const ToolResult result = RunTool({"msopgen", "check", path});
    EXPECT_EQ(result.exit_code, 2) << file;
    const std::string text = Without(result.err, kFolder + "bad/");
    if (std::getenv("TENON_UPDATE_EXPECT") != nullptr) WriteFile(golden, text);
    EXPECT_EQ(text, ReadFile(golden)) << file;
  }
}

TEST(MsopgenErrors, NothingStaysInTheFolder) {
  const TempFolder folder;
  for (const std::string& file : FilesIn(kFolder + "bad", ".json")) {
    EXPECT_EQ(Gen(kFolder + "bad/" + file, folder / "project").exit_code, 2) << file;
    EXPECT_TRUE(fs::is_empty(folder.path())) << file;
  }
}

TEST(MsopgenErrors, GoodFilesAreGood) {
  const std::vector<std::string> files = FilesIn(kFolder + "good", ".json");
  ASSERT_GE(files.size(), 40U);
  for (const std::string& file : files) {
    const ToolResult result = RunTool({"msopgen", "check", kFolder + "good/" + file});
    EXPECT_EQ(result.exit_code, 0) << file << "\n" << result.err;
  }
}

TEST(Msopgen, FoldersAreNeverOverwritten) {
  const TempFolder folder;
  const std::string file = kFolder + "good/add.json", out = folder / "ops";
  ASSERT_EQ(Gen(file, out).exit_code, 0);
  WriteFile(out + "/op_kernel/add_custom.h", "mine");
  const ToolResult again = Gen(file, out);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("CMakeLists.txt"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("nothing was written"), std::string::npos) << again.err;
  EXPECT_EQ(ReadFile(out + "/op_kernel/add_custom.h"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Msopgen, FoldersThatCannotBeBuiltInAreRefused) {
  const TempFolder folder;
  for (const std::string name : {"a;b", "a\"b", "a:b", "a[b", "a\nb"}) {
    const ToolResult result = Gen(kFolder + "good/add.json", folder / name);
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_NE(result.err.find("CMake cannot build"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// Files end at this many bytes, in programs that are started meanwhile too: writing fails as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Msopgen, FoldersOnTheWayGoWhenWritingFails) {
  const TempFolder folder;
  const std::string mine = folder / "mine";
  fs::create_directory(mine);
  ToolResult result;
  {
    const SmallFiles full(1000);
    result = Gen(kFolder + "good/add.json", mine + "/new/deeper/ops");
  }
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("cannot be written: File too large"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::is_empty(mine));
}

TEST(Msopgen, OperatorsAreAdded) {
  const TempFolder folder;
  const std::string out = folder / "ops";
  ASSERT_EQ(Gen(kFolder + "good/add.json", out).exit_code, 0);
  EXPECT_EQ(Gen(kFolder + "good/reduce_sum.json", out, {"-m", "1"}).exit_code, 0);
  const ToolResult list = RunTool({"msopgen", "list", out});
  EXPECT_NE(list.out.find("AddCustom"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("ReduceSumCustom"), std::string::npos) << list.out;
  const ToolResult twice = Gen(kFolder + "good/add.json", out, {"-m", "1"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.err.find("'add_custom' already"), std::string::npos) << twice.err;
  const ToolResult no_project = Gen(kFolder + "good/add.json", folder / "nowhere", {"-m", "1"});
  EXPECT_EQ(no_project.exit_code, 2);
  EXPECT_NE(no_project.err.find("no project of msopgen"), std::string::npos) << no_project.err;
}

TEST(Msopgen, OneOperatorOfAFile) {
  const TempFolder folder;
  const std::string file = kFolder + "good/several_operators.json";
  EXPECT_EQ(Gen(file, folder / "one", {"-op", "Relu"}).exit_code, 0);
  EXPECT_EQ(RunTool({"msopgen", "list", folder / "one"}).out.find("ReduceMean"), std::string::npos);
  const ToolResult wrong = Gen(file, folder / "two", {"-op", "Rleu"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("Relu, ReduceMean and MatMulCustom"), std::string::npos) << wrong.err;
}

void ExpectRefused(const std::vector<std::string>& words, const std::string& part) {
  const ToolResult result = RunTool(words);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << part << " in\n" << result.err;
}

TEST(Msopgen, OtherForms) {
  const TempFolder folder;
  const std::string file = kFolder + "good/add.json", out = folder / "ops";
  ExpectRefused({"msopgen", "gen", "-i", file, "-c", "gpu", "-out", out}, "'gpu' is not known");
  ExpectRefused({"msopgen", "gen", "-i", file, "-c", "cpu", "-lan", "py", "-out", out}, "-lan cpp alone");
  ExpectRefused({"msopgen", "gen", "-i", file, "-c", "cpu", "-f", "mxnet", "-out", out}, "'mxnet' is not known");
  ExpectRefused({"msopgen", "gen", "-i", "ops.xlsx", "-c", "cpu", "-out", out}, ".xlsx are not read");
  ExpectRefused({"msopgen", "gen", "-i", folder / "none.json", "-c", "cpu", "-out", out}, "none.json");
  ExpectRefused({"msopgen", "gen", "-i", file, "-c", "cpu", "--domain", "a b", "-out", out}, "'a b' is no domain");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  const ToolResult taken = RunTool(
      {"msopgen", "gen", "-i", file, "-f", "TF", "-c", "ai_core-Ascend910B1,aicpu", "-lan", "cpp", "-out", out});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_NE(taken.err.find("ai_core-Ascend910B1 is taken as npu"), std::string::npos) << taken.err;
  EXPECT_TRUE(fs::exists(out + "/op_kernel/npu/add_custom.cc"));
}

// The table is that of the field: AddCustom and AbcAAc are its own examples, the rest follows from the rules.
TEST(MsopgenNames, SnakeCase) {
  const std::pair<const char*, const char*> rows[] = {{"AddCustom", "add_custom"},
                                                      {"AbcAAc", "abc_a_ac"},
                                                      {"Add", "add"},
                                                      {"ABC", "abc"},
                                                      {"Conv2D", "conv2_d"},
                                                      {"MatMulV2", "mat_mul_v2"},
                                                      {"TopKD", "top_kd"},
                                                      {"X1", "x1"},
                                                      {"already_snake", "already_snake"}};
  for (const auto& row : rows) EXPECT_EQ(msopgen::SnakeCase(row.first), row.second) << row.first;
}

}  // namespace
}  // namespace tenon

#include "core/config/load.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/config/yaml_writer.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class Load : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("tenon_load_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                                     "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sub");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  Result<ConfigNode> LoadFile(const std::string& name, std::vector<std::string> overrides = {}) {
    ConfigSource source;
    source.path = (folder_ / name).string();
    source.overrides = std::move(overrides);
    const auto variables = variables_;
    source.environment = [variables](const std::string& variable) -> std::optional<std::string> {
      const auto found = variables.find(variable);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    return LoadConfig(source);
  }

  std::string Flow(const std::string& name, std::vector<std::string> overrides = {}) {
    const auto root = LoadFile(name, std::move(overrides));
    return root.ok() ? WriteFlowYaml(*root) : root.status().ToString();
  }

  fs::path folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(Load, MergesBasesDeeply) {
  Write("sub/a.yaml", "x: {p: 1, q: 2}\nlist: [1, 2]\nonly: a\n");
  Write("sub/b.yaml", "base_config: a.yaml\nx: {q: 3, r: 4}\n");
  Write("c.yaml", "x: {r: 5}\nz: 1\n");
  Write("run.yaml", "_base_: [sub/b.yaml, c.yaml]\nx: {p: 6}\nlist: [3]\n");
  EXPECT_EQ(Flow("run.yaml"), "{x: {p: 6, q: 3, r: 5}, list: [3], only: a, z: 1}");
}

TEST_F(Load, TheThreeNamesOfTheBaseKeyMeanTheSame) {
  Write("a.yaml", "x: 1\n");
  for (const char* key : {"_base_", "base_config", "__BASE__"}) {
    Write("run.yaml", std::string(key) + ": a.yaml\ny: 2\n");
    EXPECT_EQ(Flow("run.yaml"), "{x: 1, y: 2}") << key;
  }
  Write("run.yaml", "_base_: []\ny: 2\n");
  EXPECT_EQ(Flow("run.yaml"), "{y: 2}");
}

TEST_F(Load, DeleteDropsTheBase) {
  Write("a.yaml", "x: {p: 1, q: 2}\n");
  Write("run.yaml", "_base_: a.yaml\nx: {_delete_: true, r: 3}\ny: {_delete_: true, s: 4}\n");
  EXPECT_EQ(Flow("run.yaml"), "{x: {r: 3}, y: {s: 4}}");
  Write("run.yaml", "_base_: a.yaml\nx: {_delete_: false, r: 3}\n");
  EXPECT_EQ(Flow("run.yaml"), "{x: {p: 1, q: 2, r: 3}}");
}

TEST_F(Load, AMapReplacesTextAndTextReplacesAMap) {
  Write("a.yaml", "x: {p: 1}\ny: text\nz: 1\n");
  Write("run.yaml", "_base_: a.yaml\nx: text\ny: {q: 2}\nz: null\n");
  EXPECT_EQ(Flow("run.yaml"), "{x: text, y: {q: 2}, z: null}");
}

TEST_F(Load, ValuesKeepThePlaceOfTheirFile) {
  Write("a.yaml", "x: {p: 1}\n");
  Write("run.yaml", "_base_: a.yaml\nx: {q: 2}\n");
  const auto root = LoadFile("run.yaml");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(PlaceOf(*root, "x.p").ToString(), (folder_ / "a.yaml").string() + ":1:8");
  EXPECT_EQ(PlaceOf(*root, "x.q").ToString(), (folder_ / "run.yaml").string() + ":2:8");
}

TEST_F(Load, FillsPlaceholdersAfterParsing) {
  variables_ = {{"SET", "value"}, {"EMPTY", ""}, {"LR", "1e-3"}, {"TRICKY", "a: b # c\n${SET}"}, {"TRUE", "true"}};
  Write("run.yaml",
        "set: ${SET}\nempty: ${EMPTY}\nempty_default: ${EMPTY:d}\nunset_default: ${NOWHERE:d e}\nunset_nothing: "
        "x${NOWHERE:}y\n"
        "two: ${SET}-${SET}\nescaped: $${SET}\nlr: {v: \"${LR}\"}\ntricky: ${TRICKY}\nmoney: $5 and $$ {x}\n");
  const auto root = LoadFile("run.yaml");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  const auto text = [&root](const char* key) { return root->Find(key)->text(); };
  EXPECT_EQ(text("set"), "value");
  EXPECT_EQ(text("empty"), "");
  EXPECT_TRUE(root->Find("empty")->is_scalar());
  EXPECT_EQ(text("empty_default"), "d");
  EXPECT_EQ(text("unset_default"), "d e");
  EXPECT_EQ(text("unset_nothing"), "xy");
  EXPECT_EQ(text("two"), "value-value");
  EXPECT_EQ(text("escaped"), "${SET}");
  EXPECT_EQ(text("tricky"), "a: b # c\n${SET}");
  EXPECT_EQ(text("money"), "$5 and $$ {x}");
  EXPECT_EQ(root->Find("lr")->Find("v")->style(), ScalarStyle::kExpanded);
  EXPECT_EQ(root->entries().size(), 10u);
}

TEST_F(Load, PlaceholdersWorkInBasesAndTheirNames) {
  variables_ = {{"WHICH", "a"}, {"X", "7"}};
  Write("a.yaml", "x: ${X}\n");
  Write("run.yaml", "_base_: ${WHICH}.yaml\ny: 2\n");
  EXPECT_EQ(Flow("run.yaml"), "{x: 7, y: 2}");
}

TEST_F(Load, OverridesComeLast) {
  Write("run.yaml", "a: {b: [{c: 1}, {c: 2}], d: x}\ne: 1\n");
  EXPECT_EQ(Flow("run.yaml", {"a.b.0.c=5"}), "{a: {b: [{c: 5}, {c: 2}], d: x}, e: 1}");
  EXPECT_EQ(Flow("run.yaml", {"e=1", "e=2"}), "{a: {b: [{c: 1}, {c: 2}], d: x}, e: 2}");
  EXPECT_EQ(Flow("run.yaml", {"a={z: [1, 2]}"}), "{a: {z: [1, 2]}, e: 1}");
  EXPECT_EQ(Flow("run.yaml", {"new.section.key=text with spaces"}),
            "{a: {b: [{c: 1}, {c: 2}], d: x}, e: 1, new: {section: {key: text with spaces}}}");
  EXPECT_EQ(Flow("run.yaml", {"e="}), "{a: {b: [{c: 1}, {c: 2}], d: x}, e: null}");
  EXPECT_EQ(Flow("run.yaml", {"e=''"}), "{a: {b: [{c: 1}, {c: 2}], d: x}, e: \"\"}");
  EXPECT_EQ(Flow("run.yaml", {"e=\"3\""}), "{a: {b: [{c: 1}, {c: 2}], d: x}, e: \"3\"}");
  EXPECT_EQ(Flow("run.yaml", {"p.\"vendor.npu\"=./x.so"}),
            "{a: {b: [{c: 1}, {c: 2}], d: x}, e: 1, p: {vendor.npu: ./x.so}}");
  EXPECT_EQ(Flow("run.yaml", {"e=a: b # c=d"}), "{a: {b: [{c: 1}, {c: 2}], d: x}, e: \"a: b # c=d\"}");
}

TEST_F(Load, OverridesAreNotFilled) {
  variables_ = {{"X", "7"}};
  Write("run.yaml", "e: 1\n");
  const auto root = LoadFile("run.yaml", {"e=${X}"});
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->Find("e")->text(), "${X}");
}

TEST_F(Load, AMissingFileAndAFolderSaySo) {
  const std::string missing = (folder_ / "nowhere.yaml").string();
  EXPECT_EQ(LoadFile("nowhere.yaml").status().ToString(), "error: The config file '" + missing + "' does not exist.");
  EXPECT_EQ(LoadFile("sub").status().ToString(),
            "error: '" + (folder_ / "sub").string() + "' is a folder, and a config is a file.");
}

TEST_F(Load, TextAtHandHasNoBases) {
  const auto root = LoadConfigText("a: 1\n", "text", "");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(WriteFlowYaml(*root), "{a: 1}");
  EXPECT_EQ(LoadConfigText("_base_: a.yaml\n", "text", "").status().ToString(),
            "text:1:1: error: '_base_' works in files only.");
}

}  // namespace
}  // namespace tenon

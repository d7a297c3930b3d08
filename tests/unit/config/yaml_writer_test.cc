#include "core/config/yaml_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/config/load.h"
#include "core/config/scalar.h"

namespace tenon {
namespace {

ConfigNode Entry(const std::string& key, ConfigNode value) { return ConfigNode::Map({{key, {}, std::move(value)}}); }

TEST(YamlWriter, EveryTextReadsBack) {
  for (const std::string text : {"plain",
                                 "two words",
                                 "",
                                 "null",
                                 "~",
                                 "true",
                                 "12",
                                 "1e-4",
                                 ".inf",
                                 "- x",
                                 "-",
                                 "---",
                                 "a: b",
                                 "a #b",
                                 "#",
                                 "'",
                                 "\"",
                                 "\\",
                                 "line\nbreak\n",
                                 "tab\there",
                                 "${X}",
                                 "$${X}",
                                 "$$${X}",
                                 "a,b",
                                 "[x]",
                                 "{x}",
                                 "*a",
                                 "&a",
                                 "!t",
                                 "%d",
                                 "@x",
                                 "`",
                                 "|",
                                 ">",
                                 "?",
                                 "é\xF0\x9F\x99\x82",
                                 " lead",
                                 "trail ",
                                 "a  b",
                                 "<<",
                                 "C:\\x",
                                 "no",
                                 "\x01",
                                 "...",
                                 "=",
                                 "a=b;c(d)"}) {
    const std::string yaml = WriteYaml(Entry("key", TextNode(text)));
    const auto back = LoadConfigText(yaml, "t", "");
    ASSERT_TRUE(back.ok()) << yaml << back.status().ToString();
    EXPECT_EQ(back->Find("key")->text(), text) << yaml;
    EXPECT_TRUE(back->Find("key")->is_scalar()) << yaml;
  }
}

TEST(YamlWriter, EveryKeyReadsBack) {
  for (const std::string key : {"plain", "with space", "a: b", "null", "${X}", "$${X}", "'", "<<", "vendor.npu"}) {
    const std::string yaml = WriteYaml(Entry(key, ConfigNode::Scalar("1")));
    const auto back = LoadConfigText(yaml, "t", "");
    ASSERT_TRUE(back.ok()) << yaml << back.status().ToString();
    EXPECT_NE(back->Find(key), nullptr) << yaml;
  }
}

TEST(YamlWriter, BreaksWhatDoesNotFitALine) {
  std::vector<ConfigNode> items(3, Entry("conv", Entry("out", ConfigNode::Scalar("6"))));
  EXPECT_EQ(WriteYaml(Entry("layers", ConfigNode::List(items))),
            "layers: [{conv: {out: 6}}, {conv: {out: 6}}, {conv: {out: 6}}]\n");
  items.assign(8, Entry("conv", Entry("out", ConfigNode::Scalar("6"))));
  const std::string yaml = WriteYaml(Entry("layers", ConfigNode::List(items)));
  EXPECT_EQ(yaml.substr(0, 28), "layers:\n  - {conv: {out: 6}}");
  const auto back = LoadConfigText(yaml, "t", "");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(WriteYaml(*back), yaml);
}

TEST(YamlWriter, JsonHasTypes) {
  const auto root = LoadConfigText("a: 1\nb: 0.5\nc: true\nd: x\ne: '1'\nf: null\ng: [1, {h: i}]\n", "t", "");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(ToJson(*root).dump(), R"({"a":1,"b":0.5,"c":true,"d":"x","e":"1","f":null,"g":[1,{"h":"i"}]})");
}

}  // namespace
}  // namespace tenon

#include "core/config/key_lines.h"

#include <gtest/gtest.h>

#include "core/config/yaml_reader.h"

namespace tenon {
namespace {

TEST(KeyLines, OneLineForEachValue) {
  const auto tree = ReadYaml(
      "train: {epochs: 4, none: }\nlayers:\n  - conv: {filters: 6, text: \"a: b\\nc\"}\n  - flatten\nsplit: [0.8, "
      "0.2]\nargs: {}\n",
      std::make_shared<ConfigOrigin>());
  ASSERT_TRUE(tree.ok()) << tree.status().ToString();
  EXPECT_EQ(KeyLines(*tree),
            "train.epochs: 4\ntrain.none: null\nlayers.0.conv.filters: 6\nlayers.0.conv.text: \"a: b\\nc\"\nlayers.1: "
            "flatten\n"
            "split: [0.8, 0.2]\nargs: {}\n");
}

}  // namespace
}  // namespace tenon

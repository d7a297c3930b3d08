#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/config/yaml_reader.h"

namespace tenon::testing_support {

// A document as it would stand in run.yaml.
inline ConfigNode Yaml(const std::string& text) {
  auto origin = std::make_shared<ConfigOrigin>();
  origin->name = "run.yaml";
  Result<ConfigNode> node = ReadYaml(text, origin);
  EXPECT_TRUE(node.ok()) << node.status().ToString();
  return *node;
}

}  // namespace tenon::testing_support

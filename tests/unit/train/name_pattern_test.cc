#include "core/train/name_pattern.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

const std::vector<std::string> kNames = {"conv1.weight", "conv1.bias", "conv2.weight", "head.bias"};

TEST(NamePattern, PicksInOrder) {
  EXPECT_EQ(PickNames("*.bias", kNames, "parameter").value(), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(PickNames("conv?.weight", kNames, "parameter").value(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(PickNames("head.bias", kNames, "parameter").value(), (std::vector<std::size_t>{3}));
}

TEST(NamePattern, NothingIsAnErrorWithTheNearestName) {
  const auto message = [](const char* pattern) { return PickNames(pattern, kNames, "parameter").status().message(); };
  EXPECT_EQ(message("conv1"), "The pattern 'conv1' matches no parameter. Did you mean 'conv1.*'?");
  EXPECT_EQ(message("conv1.wieght"), "The pattern 'conv1.wieght' matches no parameter. Did you mean 'conv1.weight'?");
  EXPECT_EQ(message("haed.*"), "The pattern 'haed.*' matches no parameter. Did you mean 'head.*'?");
  EXPECT_EQ(
      message("encoder"),
      "The pattern 'encoder' matches no parameter. There are conv1.weight, conv1.bias, conv2.weight and head.bias.");
}

}  // namespace
}  // namespace tenon

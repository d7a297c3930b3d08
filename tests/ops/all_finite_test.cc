// Expected values follow from the definition.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

bool AllFinite(std::vector<Tensor> inputs) {
  const auto outputs = RunReference({"tenon", "AllFinite", 0, {}, std::move(inputs), 1, {}});
  EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
  return outputs.ok() && *outputs.value()[0].data<bool>();
}

TEST(AllFinite, LooksAtEveryElementOfEveryInput) {
  EXPECT_TRUE(AllFinite({F32({2}, {1, -3e38})}));
  EXPECT_TRUE(AllFinite({F32({0}, {}), F64({1}, {1e300})}));
  EXPECT_FALSE(AllFinite({F32({2}, {1, 2}), F32({3}, {1, 2, INFINITY})}));
  EXPECT_FALSE(AllFinite({F64({2}, {-INFINITY, 2})}));
  EXPECT_FALSE(AllFinite({F32({2, 1}, {NAN, 2}), F32({1}, {0})}));
}

}  // namespace
}  // namespace tenon::testing

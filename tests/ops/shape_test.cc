// Operators that move or reshape data. Listed values by hand from the definitions.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

using Ints = std::vector<std::int64_t>;

// Field case G22.
TEST(Reshape, InfersAndCopiesDims) {
  const Tensor x = Ramp({2, 3});
  CheckCase({.op = "Reshape", .inputs = {x, I64({2}, {0, -1})}, .expect = {Ramp({2, 3})}, .symbolic = true});
  CheckCase({.op = "Reshape", .inputs = {x, I64({1}, {-1})}, .expect = {Ramp({6})}});
  CheckCase({.op = "Reshape", .inputs = {Ramp({1}), I64({0}, {})}, .expect = {F32({}, {0})}});
  CheckCase({.op = "Reshape", .inputs = {F32({0, 8, 2}, {}), I64({3}, {4, 2, -1})}, .expect = {F32({4, 2, 0}, {})}});
  CheckCase({.op = "Reshape",
             .inputs = {F32({4, 2, 0}, {}), I64({3}, {0, 0, 4})},
             .expect = {F32({0, 0, 4}, {})},
             .attrs = {{"allowzero", std::int64_t{1}}}});
  CheckCase({.op = "Reshape",
             .inputs = {F32({4, 2, 0}, {}), I64({2}, {8, 0})},
             .expect = {},
             .attrs = {{"allowzero", std::int64_t{1}}}});
  CheckCase({.op = "Reshape", .inputs = {F32({0, 3}, {}), I64({2}, {0, -1})}, .expect = {F32({0, 3}, {})}});
}

TEST(Reshape, KeepsTheBatchSymbolic) {
  const Tensor shape = I64({2}, {-1, 400});
  const std::vector<ValueType> types{{DType::kF32, SymShape{Dim::Symbol("N"), 16, 5, 5}}, {DType::kI64, SymShape{2}}};
  const Tensor* const constants[] = {nullptr, &shape};
  const OpDef* def = BuiltinOps().Find("", "Reshape").value();
  const auto outputs = def->InferOutputs({{"allowzero", std::int64_t{0}}}, types, constants, 1);
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  EXPECT_EQ((*outputs)[0].ToString(), "f32[N,400]");
  const auto unknown = def->InferOutputs({{"allowzero", std::int64_t{0}}}, types, {}, 1);
  EXPECT_EQ(unknown.status().message(), "Input 1 must be a constant: the output shape depends on its values.");
}

TEST(Reshape, NamesWhatIsWrong) {
  const Tensor x = Ramp({2, 3});
  CheckFails({.op = "Reshape", .inputs = {x, I64({2}, {4, 2})}, .expect = {}},
             "Reshape of [2,3] (6 elements) to [4,2] (8 elements).");
  CheckFails({.op = "Reshape", .inputs = {x, I64({2}, {4, -1})}, .expect = {}},
             "Reshape of [2,3] to [4,-1]: 6 elements do not divide by 4.");
  CheckFails({.op = "Reshape", .inputs = {x, I64({2}, {-1, -1})}, .expect = {}},
             "Reshape to [-1,-1]: more than one dimension is -1.");
  CheckFails({.op = "Reshape", .inputs = {x, I64({3}, {2, 3, 0})}, .expect = {}},
             "Reshape to [2,3,0]: the 0 at place 2 copies a dimension that [2,3] lacks.");
  CheckFails(
      {.op = "Reshape", .inputs = {x, I64({2}, {0, -1})}, .expect = {}, .attrs = {{"allowzero", std::int64_t{1}}}},
      "Reshape of [2,3] to [0,-1]: the other dims have 0 elements, so the -1 could be anything.");
}

TEST(Views, FlattenSqueezeUnsqueeze) {
  const Tensor x = Ramp({2, 3, 2});
  CheckCase({.op = "Flatten", .inputs = {x}, .expect = {Ramp({2, 6})}, .symbolic = true});
  CheckCase({.op = "Flatten", .inputs = {x}, .expect = {Ramp({6, 2})}, .attrs = {{"axis", std::int64_t{-1}}}});
  CheckCase({.op = "Flatten", .inputs = {x}, .expect = {Ramp({1, 12})}, .attrs = {{"axis", std::int64_t{0}}}});
  CheckCase({.op = "Flatten", .inputs = {x}, .expect = {Ramp({12, 1})}, .attrs = {{"axis", std::int64_t{3}}}});
  CheckCase({.op = "Flatten", .inputs = {F32({0, 3, 2}, {})}, .expect = {F32({0, 6}, {})}});
  CheckFails({.op = "Flatten", .inputs = {x}, .expect = {}, .attrs = {{"axis", std::int64_t{4}}}},
             "Flatten axis (4) is outside [-3, 3] for an input of shape [2,3,2].");
  CheckCase({.op = "Unsqueeze",
             .inputs = {Ramp({2, 3}), I64({2}, {0, -1})},
             .expect = {Ramp({1, 2, 3, 1})},
             .symbolic = true});
  CheckCase({.op = "Squeeze", .inputs = {Ramp({1, 2, 1}), I64({1}, {-1})}, .expect = {Ramp({1, 2})}});
  CheckCase({.op = "Squeeze", .inputs = {Ramp({1, 2, 1})}, .expect = {Ramp({2})}});
  CheckFails({.op = "Squeeze", .inputs = {Ramp({2, 3}), I64({1}, {1})}, .expect = {}},
             "Squeeze removes axis 1 of [2,3], but its extent is 3, not 1.");
}

TEST(Squeeze, OlderOpsetsHaveAnAttribute) {
  const auto axes = [](const Ints& values) { return Attributes{{"axes", values}}; };
  CheckCase(
      {.op = "Squeeze", .inputs = {Ramp({1, 2, 1})}, .expect = {Ramp({2, 1})}, .attrs = axes({0}), .version = 11});
  CheckCase({.op = "Squeeze", .inputs = {Ramp({1, 2, 1})}, .expect = {Ramp({2})}, .version = 1});
  CheckCase(
      {.op = "Unsqueeze", .inputs = {Ramp({2})}, .expect = {Ramp({1, 2, 1})}, .attrs = axes({0, 2}), .version = 11});
  CheckFails({.op = "Unsqueeze", .inputs = {Ramp({2})}, .expect = {}, .version = 11},
             "Unsqueeze needs the attribute 'axes' (list of ints).");
}

TEST(Transpose, Permutes) {
  const Tensor x = Ramp({2, 3});
  CheckCase({.op = "Transpose", .inputs = {x}, .expect = {F32({3, 2}, {0, 3, 1, 4, 2, 5})}, .symbolic = true});
  CheckCase({.op = "Transpose",
             .inputs = {Ramp({2, 2, 3})},
             .expect = {F32({2, 3, 2}, {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11})},
             .attrs = {{"perm", Ints{0, 2, 1}}}});
  CheckCase({.op = "Transpose",
             .inputs = {Ramp({2, 1, 3})},
             .expect = {F32({3, 2, 1}, {0, 3, 1, 4, 2, 5})},
             .attrs = {{"perm", Ints{2, 0, 1}}}});
  CheckCase({.op = "Transpose", .inputs = {F32({}, {5})}, .expect = {F32({}, {5})}});
  CheckCase({.op = "Transpose", .inputs = {F32({0, 3}, {})}, .expect = {F32({3, 0}, {})}});
  CheckCase({.op = "Transpose", .inputs = {Bool({1, 2}, {1, 0})}, .expect = {Bool({2, 1}, {1, 0})}});
  CheckFails({.op = "Transpose", .inputs = {x}, .expect = {}, .attrs = {{"perm", Ints{0, 0}}}},
             "Transpose perm [0,0] is not a permutation of 0 to 1.");
}

TEST(Expand, Broadcasts) {
  CheckCase(
      {.op = "Expand", .inputs = {F32({2, 1}, {1, 2}), I64({2}, {1, 3})}, .expect = {F32({2, 3}, {1, 1, 1, 2, 2, 2})}});
  CheckCase({.op = "Expand", .inputs = {F32({}, {4}), I64({2}, {2, 1})}, .expect = {F32({2, 1}, {4, 4})}});
  CheckCase({.op = "Expand", .inputs = {F32({1}, {4}), I64({1}, {0})}, .expect = {F32({0}, {})}});
}

TEST(Concat, JoinsAlongAnAxis) {
  const Tensor a = Ramp({2, 2}), b = Ramp({2, 1}, 10);
  CheckCase({.op = "Concat",
             .inputs = {a, b},
             .expect = {F32({2, 3}, {0, 1, 10, 2, 3, 11})},
             .attrs = {{"axis", std::int64_t{-1}}}});
  CheckCase({.op = "Concat",
             .inputs = {a, Ramp({1, 2}, 7), a},
             .expect = {F32({5, 2}, {0, 1, 2, 3, 7, 8, 0, 1, 2, 3})},
             .attrs = {{"axis", std::int64_t{0}}}});
  CheckCase({.op = "Concat", .inputs = {a, F32({0, 2}, {})}, .expect = {a}, .attrs = {{"axis", std::int64_t{0}}}});
  CheckCase({.op = "Concat",
             .inputs = {F32({0, 2}, {}), F32({0, 1}, {})},
             .expect = {F32({0, 3}, {})},
             .attrs = {{"axis", std::int64_t{1}}}});
  CheckFails({.op = "Concat", .inputs = {a, Ramp({3, 2})}, .expect = {}, .attrs = {{"axis", std::int64_t{1}}}},
             "Concat along axis 1: input 1 has shape [3,2], which does not fit input 0 with [2,2].");
}

TEST(Split, CutsIntoParts) {
  const Tensor x = Ramp({2, 4});
  CheckCase({.op = "Split",
             .inputs = {x},
             .expect = {F32({2, 2}, {0, 1, 4, 5}), F32({2, 2}, {2, 3, 6, 7})},
             .attrs = {{"axis", std::int64_t{-1}}},
             .symbolic = true});
  CheckCase({.op = "Split",
             .inputs = {x, I64({2}, {1, 3})},
             .expect = {F32({2, 1}, {0, 4}), F32({2, 3}, {1, 2, 3, 5, 6, 7})},
             .attrs = {{"axis", std::int64_t{1}}}});
  CheckCase({.op = "Split",
             .inputs = {Ramp({5})},
             .expect = {F32({2}, {0, 1}), F32({2}, {2, 3}), F32({1}, {4})},
             .attrs = {{"num_outputs", std::int64_t{3}}}});
  CheckCase({.op = "Split",
             .inputs = {Ramp({3})},
             .expect = {F32({0}, {}), F32({3}, {0, 1, 2})},
             .attrs = {{"split", Ints{0, 3}}},
             .version = 11});
  CheckFails({.op = "Split", .inputs = {Ramp({5})}, .expect = {}, .outputs = 2},
             "Split of axis 0 of [5] into 2 equal parts.");
  CheckFails({.op = "Split", .inputs = {Ramp({5}), I64({2}, {1, 3})}, .expect = {}, .outputs = 2},
             "Split lists parts [1,3] with 4 elements for axis 0 of [5].");
}

TEST(Gather, TakesSlices) {
  const Tensor x = Ramp({3, 2});
  CheckCase({.op = "Gather",
             .inputs = {x, I64({2, 2}, {0, -1, 2, 0})},
             .expect = {F32({2, 2, 2}, {0, 1, 4, 5, 4, 5, 0, 1})}});
  CheckCase({.op = "Gather",
             .inputs = {x, I32({1}, {1})},
             .expect = {F32({3, 1}, {1, 3, 5})},
             .attrs = {{"axis", std::int64_t{-1}}}});
  CheckCase({.op = "Gather", .inputs = {Ramp({4}), I64({}, {-1})}, .expect = {F32({}, {3})}});
  CheckCase({.op = "Gather", .inputs = {x, I64({0}, {})}, .expect = {F32({0, 2}, {})}});
  CheckFails({.op = "Gather", .inputs = {x, I64({1}, {3})}, .expect = {}},
             "Gather index 3 is outside [-3, 3), the limits of axis 0 of [3,2].");
  CheckFails({.op = "Gather", .inputs = {x, I64({1}, {-4})}, .expect = {}},
             "Gather index -4 is outside [-3, 3), the limits of axis 0 of [3,2].");
  // A slice taken twice gets both gradients.
  CheckCase({.op = "GatherGrad",
             .inputs = {F32({3}, {1, 2, 4}), I64({3}, {1, 1, -1})},
             .expect = {F32({3}, {0, 3, 4})},
             .attrs = {{"x_shape", Ints{3}}},
             .domain = "tenon"});
}

}  // namespace
}  // namespace tenon::testing

// ScatterND. The first two cases are the examples of ONNX's operator definition; the others by hand from it.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Put(const char* reduction, const Tensor& data, const Tensor& indices, const Tensor& updates,
           const Tensor& expected) {
  return {.op = "ScatterND",
          .inputs = {data, indices, updates},
          .expect = {expected},
          .attrs = {{"reduction", std::string(reduction)}}};
}

TEST(ScatterND, Replaces) {
  CheckCase(Put("none", Ramp({8}, 1), I64({4, 1}, {4, 3, 1, 7}), F32({4}, {9, 10, 11, 12}),
                F32({8}, {1, 11, 3, 10, 9, 6, 7, 12})));
  CheckCase(Put("none", F32({3, 2}, {1, 2, 3, 4, 5, 6}), I64({2, 1}, {0, -1}), F32({2, 2}, {7, 7, 8, 8}),
                F32({3, 2}, {7, 7, 3, 4, 8, 8})));
  CheckCase(Put("none", F32({2, 2}, {1, 2, 3, 4}), I64({1, 2}, {1, 0}), F32({1}, {9}), F32({2, 2}, {1, 2, 9, 4})));
  CheckCase(Put("none", I64({2}, {1, 2}), I64({0, 1}, {}), I64({0}, {}), I64({2}, {1, 2})));
}

TEST(ScatterND, Joins) {
  const Tensor data = F32({2, 2}, {1, 2, 3, 4}), indices = I64({2, 1}, {0, 0}), updates = F32({2, 2}, {5, 1, 6, 3});
  const auto joined = [&](const char* reduction, const Tensor& expected, std::vector<int> gradient) {
    OpCase row = Put(reduction, data, indices, updates, expected);
    row.gradient = std::move(gradient);
    CheckCase(row);
  };
  joined("add", F32({2, 2}, {12, 6, 3, 4}), {0, 2});
  joined("mul", F32({2, 2}, {30, 6, 3, 4}), {-1});
  joined("max", F32({2, 2}, {6, 3, 3, 4}), {-1});
  joined("min", F32({2, 2}, {1, 1, 3, 4}), {-1});
}

TEST(ScatterND, NamesWhatIsWrong) {
  const Tensor data = Ramp({2, 3});
  CheckFails(Put("none", data, I64({1, 1}, {2}), F32({1, 3}, {1, 2, 3}), {}),
             "ScatterND index 2 is outside [-2, 2), the limits of axis 0 of [2,3].");
  CheckFails(Put("none", data, I64({1, 1}, {1}), F32({3}, {1, 2, 3}), {}),
             "ScatterND of [2,3] by indices [1,1] needs updates [1,3]; they have shape [3].");
  CheckFails(Put("add", Bool({1}, {1}), I64({1, 1}, {0}), Bool({1}, {1}), {}),
             "ScatterND reduction 'add' needs numbers; the data is bool.");
}

}  // namespace
}  // namespace tenon::testing

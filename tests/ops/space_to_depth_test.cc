// SpaceToDepth. One channel as torch.pixel_unshuffle (2.15); more by hand from the operator definition.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

OpCase Packed(const Tensor& x, std::int64_t block, const Tensor& expected) {
  return {.op = "SpaceToDepth", .inputs = {x}, .expect = {expected}, .attrs = {{"blocksize", block}}};
}

TEST(SpaceToDepth, PacksBlocks) {
  CheckCase(Packed(Ramp({1, 1, 4, 4}), 2, F32({1, 4, 2, 2}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15})));
  CheckCase(Packed(Ramp({1, 2, 2, 2}), 2, F32({1, 8, 1, 1}, {0, 4, 1, 5, 2, 6, 3, 7})));
  CheckCase(Packed(I64({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}), 2, I64({1, 4, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7})));
}

TEST(SpaceToDepth, NamesWhatIsWrong) {
  CheckFails(Packed(Ramp({1, 1, 3, 4}), 2, {}), "SpaceToDepth of [1,1,3,4] by blocks of 2: axis 2 is not a multiple.");
}

}  // namespace
}  // namespace tenon::testing

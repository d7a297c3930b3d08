// DepthToSpace. The images of ONNX's test data (test_depthtospace_*); CRD also as torch.pixel_shuffle (2.15).
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

// Channel c of the image holds 9 c + 0 .. 5.
Tensor EightChannels() {
  std::vector<double> values;
  for (int channel = 0; channel < 8; ++channel) {
    for (int i = 0; i < 6; ++i) values.push_back(9 * channel + i);
  }
  return F32({1, 8, 2, 3}, values);
}

OpCase Spread(const char* mode, const Tensor& x, std::int64_t block, const Tensor& expected) {
  return {.op = "DepthToSpace",
          .inputs = {x},
          .expect = {expected},
          .attrs = {{"blocksize", block}, {"mode", std::string(mode)}}};
}

TEST(DepthToSpace, SpreadsChannels) {
  CheckCase(Spread("DCR", EightChannels(), 2,
                   F32({1, 2, 4, 6}, {0,  18, 1,  19, 2,  20, 36, 54, 37, 55, 38, 56, 3,  21, 4,  22,
                                      5,  23, 39, 57, 40, 58, 41, 59, 9,  27, 10, 28, 11, 29, 45, 63,
                                      46, 64, 47, 65, 12, 30, 13, 31, 14, 32, 48, 66, 49, 67, 50, 68})));
  CheckCase(Spread("CRD", Ramp({1, 4, 2, 3}), 2, F32({1, 1, 4, 6}, {0, 6, 1, 7,  2, 8,  12, 18, 13, 19, 14, 20,
                                                                    3, 9, 4, 10, 5, 11, 15, 21, 16, 22, 17, 23})));
  CheckCase(Spread("CRD", Ramp({1, 8, 1, 1}), 2, F32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})));
  CheckCase(Spread("DCR", Ramp({1, 8, 1, 1}), 2, F32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})));
  CheckCase(Spread("DCR", F32({0, 4, 1, 1}, {}), 2, F32({0, 1, 2, 2}, {})));
}

TEST(DepthToSpace, NamesWhatIsWrong) {
  CheckFails(Spread("DCR", Ramp({1, 6, 1, 1}), 2, {}),
             "DepthToSpace of 6 channels by blocks of 2: 4 does not divide them.");
  CheckFails(Spread("RCD", Ramp({1, 4, 1, 1}), 2, {}),
             "DepthToSpace mode 'RCD' is not supported; supported are DCR and CRD.");
  CheckFails(Spread("DCR", Ramp({1, 4, 1}), 2, {}),
             "DepthToSpace needs images [N,C,H,W]; the input has shape [1,4,1].");
  CheckFails(Spread("DCR", Ramp({1, 4, 1, 1}), 0, {}), "DepthToSpace needs a block size from 1 to 32768; it is 0.");
}

}  // namespace
}  // namespace tenon::testing

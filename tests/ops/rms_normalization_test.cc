// RMSNormalization and its gradient. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

// 0.5 cos(i) (1 + 0.1 i)
const Tensor& Wave() {
  static const Tensor wave =
      F32({2, 4, 3}, {0.5,       0.2971663,  -0.2496881, -0.6434951,  -0.4575505, 0.2127466,  0.7681362, 0.6408169,
                      -0.13095,  -0.8655737, -0.8390715, 0.004646983, 0.9282394,  1.043564,   0.1640847, -0.9496099,
                      -1.244957, -0.3714705, 0.9244434,  1.433622,    0.6121231,  -0.8489804, -1.599937, -0.8791745});
  return wave;
}

TEST(RmsNormalization, FollowsPyTorch) {
  const Tensor scale = F32({3}, {1.5, -0.5, 2});
  CheckCase({.op = "RMSNormalization",
             .inputs = {Wave(), scale},
             .expect = {F32({2, 4, 3}, {2.052211, -0.4065653, -1.366434,  -2.044428, 0.4845565, 0.9012143,
                                        1.978093, -0.550074,  -0.4496274, -1.865421, 0.6027683, 0.01335311,
                                        1.714912, -0.6426575, 0.4041928,  -1.533107, 0.669978,  -0.7996324,
                                        1.325231, -0.6850535, 1.170008,   -1.09555,  0.6882023, -1.512684})},
             .symbolic = true});
  CheckCase({.op = "RMSNormalization",
             .inputs = {Wave(), F32({4, 3}, {0.5, 0.6363636, 0.7727273, 0.9090909, 1.045455, 1.181818, 1.318182,
                                             1.454545, 1.590909, 1.727273, 1.863636, 2})},
             .expect = {F32({2, 4, 3}, {0.4602496, 0.3481435, -0.3552037, -1.076976,  -0.8806385, 0.4628783,
                                        1.864091,  1.71599,   -0.3835345, -2.752444,  -2.878814,  0.01711018,
                                        0.4659592, 0.6667181, 0.1272952,  -0.8667032, -1.306705,  -0.4407506,
                                        1.223414,  2.093533,  0.9776918,  -1.472233,  -2.993519,  -1.765318})},
             .attrs = {{"axis", std::int64_t{1}}}});
  CheckCase({.op = "RMSNormalizationGrad",
             .inputs = {F32({2, 4, 3}, {0,          0.9916648,  -0.2555411, -0.9258147, 0.4941134,  0.7984871,
                                        -0.6998747, -0.6181371, 0.8591618,  0.3967406,  -0.9613975, -0.148999,
                                        0.9997929,  -0.1086366, -0.9717984, 0.3590584,  0.8792731,  -0.5856373,
                                        -0.7283608, 0.7733279,  0.5290827,  -0.9096667, -0.2946716, 0.9856003}),
                        Wave(), scale},
             .expect = {F32({2, 4, 3}, {0.0673807,  -1.31669,   -1.432113, -0.1971937, 1.427946,    2.475207,
                                        -0.7226158, 1.431337,   2.765937,  0.06791073, -0.07237098, -0.4239231,
                                        1.193934,   -0.6674207, -2.50931,  0.7655641,  -0.2294931,  -1.187938,
                                        -0.7975926, 0.01280738, 1.174535,  -1.319865,  -0.1483991,  1.544601}),
                        F32({3}, {0.6424515, 0.9537687, -0.05793729})},
             .domain = "tenon",
             .outputs = 2});
}

TEST(RmsNormalization, BroadcastsTheScale) {
  CheckCase({.op = "RMSNormalization",
             .inputs = {Random({2, 3, 4}), Random({4})},
             .expect = {},
             .attrs = {{"axis", std::int64_t{1}}, {"epsilon", 0.01}}});
  CheckCase({.op = "RMSNormalization", .inputs = {Random({3, 4}), F32({1}, {2})}, .expect = {}});
  CheckCase({.op = "RMSNormalization", .inputs = {F32({0, 3}, {}), Ramp({3})}, .expect = {F32({0, 3}, {})}});
}

TEST(RmsNormalization, NamesWhatIsWrong) {
  CheckFails({.op = "RMSNormalization", .inputs = {Random({2, 3}), Random({2, 3})}, .expect = {}},
             "RMSNormalization scale has shape [2,3]; X [2,3] from axis 1 on needs [3].");
}

}  // namespace
}  // namespace tenon::testing

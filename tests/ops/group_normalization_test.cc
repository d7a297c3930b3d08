// GroupNormalization and its gradient. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

// Two samples of four channels: 0.5 cos(i) (1 + 0.1 i).
const Tensor& Wave() {
  static const Tensor wave =
      F32({2, 4, 3}, {0.5,       0.2971663,  -0.2496881, -0.6434951,  -0.4575505, 0.2127466,  0.7681362, 0.6408169,
                      -0.13095,  -0.8655737, -0.8390715, 0.004646983, 0.9282394,  1.043564,   0.1640847, -0.9496099,
                      -1.244957, -0.3714705, 0.9244434,  1.433622,    0.6121231,  -0.8489804, -1.599937, -0.8791745});
  return wave;
}
const Attributes kTwo{{"num_groups", std::int64_t{2}}};

TEST(GroupNormalization, FollowsPyTorch) {
  const Tensor scale = F32({4}, {1.5, -0.5, 2, 0.25}), bias = F32({4}, {0.1, 0.2, -0.3, 0});
  CheckCase({.op = "GroupNormalization",
             .inputs = {Wave(), scale, bias},
             .expect = {F32({2, 4, 3}, {2.096473, 1.369193, -0.5916066, 0.9012134,  0.6789726,  -0.1221661,
                                        2.328846, 1.929663, -0.4900537, -0.3116644, -0.3012779, 0.02938536,
                                        1.824956, 2.023899, 0.5067318,  0.7048249,  0.8746571,  0.3723803,
                                        1.482305, 2.404484, 0.9166578,  -0.1786956, -0.348704,  -0.1855312})},
             .attrs = kTwo});
  CheckCase({.op = "GroupNormalization",
             .inputs = {Random({3, 6, 2, 2}), Random({6}, 0.5, 2), Random({6}, -1, 1, 5)},
             .expect = {},
             .attrs = {{"num_groups", std::int64_t{3}}, {"epsilon", 0.01}},
             .symbolic = true});
  CheckCase({.op = "GroupNormalization",
             .inputs = {Random({3, 4}), Random({4}), Random({4}, -1, 1, 5)},
             .expect = {},
             .attrs = {{"num_groups", std::int64_t{1}}}});
  CheckCase({.op = "GroupNormalizationGrad",
             .inputs = {F32({2, 4, 3}, {0,          0.9916648,  -0.2555411, -0.9258147, 0.4941134,  0.7984871,
                                        -0.6998747, -0.6181371, 0.8591618,  0.3967406,  -0.9613975, -0.148999,
                                        0.9997929,  -0.1086366, -0.9717984, 0.3590584,  0.8792731,  -0.5856373,
                                        -0.7283608, 0.7733279,  0.5290827,  -0.9096667, -0.2946716, 0.9856003}),
                        Wave(), scale},
             .expect = {F32({2, 4, 3}, {-0.7727999, 2.930794,   -1.142482, 1.167437,   -0.6652293, -1.517719,
                                        -0.8021768, -0.7138107, 2.900171,  -0.6068684, -1.104188,  0.3268731,
                                        1.415055,   -0.5426719, -1.68392,  0.2264246,  0.04407691, 0.5410354,
                                        -1.688531,  0.9254563,  0.6536985, -0.2070461, 0.0881307,  0.228292}),
                        F32({4}, {1.703786, -0.007489426, -0.9721913, 0.9762659}),
                        F32({4}, {0.6554816, 1.01948, 0.1151998, -0.9323939})},
             .attrs = kTwo,
             .domain = "tenon",
             .outputs = 3});
}

TEST(GroupNormalization, HasAScalePerGroupInOpset18) {
  CheckCase({.op = "GroupNormalization",
             .inputs = {Wave(), F32({2}, {1.5, -0.5}), F32({2}, {0.1, 0.2})},
             .expect = {F32({2, 4, 3}, {2.096473,   1.369193,   -0.5916066, -2.00364,  -1.336918, 1.066498,
                                        -0.4572116, -0.3574157, 0.2475134,  0.8233288, 0.8025558, 0.1412293,
                                        1.824956,   2.023899,   0.5067318,  -1.414475, -1.923971, -0.417141,
                                        -0.2455762, -0.476121,  -0.1041645, 0.5573912, 0.8974081, 0.5710624})},
             .attrs = kTwo,
             .version = 18});
}

TEST(GroupNormalization, TakesAnEmptyBatch) {
  CheckCase({.op = "GroupNormalization",
             .inputs = {F32({0, 4, 3}, {}), Ramp({4}), Ramp({4})},
             .expect = {F32({0, 4, 3}, {})},
             .attrs = kTwo});
}

TEST(GroupNormalization, NamesWhatIsWrong) {
  CheckFails(
      {.op = "GroupNormalization", .inputs = {Random({2, 5}), Random({5}), Random({5})}, .expect = {}, .attrs = kTwo},
      "The channels of X [2,5] do not divide into 2 groups.");
  CheckFails({.op = "GroupNormalization", .inputs = {Wave(), Random({2}), Random({4})}, .expect = {}, .attrs = kTwo},
             "scale has shape [2]; X [2,4,3] with 2 groups needs [4].");
}

}  // namespace
}  // namespace tenon::testing

// InstanceNormalization. Listed values from PyTorch 2.15 in float64.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

TEST(InstanceNormalization, FollowsPyTorch) {
  const Tensor x =
      F32({2, 4, 3}, {0.5,       0.2971663,  -0.2496881, -0.6434951,  -0.4575505, 0.2127466,  0.7681362, 0.6408169,
                      -0.13095,  -0.8655737, -0.8390715, 0.004646983, 0.9282394,  1.043564,   0.1640847, -0.9496099,
                      -1.244957, -0.3714705, 0.9244434,  1.433622,    0.6121231,  -0.8489804, -1.599937, -0.8791745});
  CheckCase({.op = "InstanceNormalization",
             .inputs = {x, F32({4}, {1.5, -0.5, 2, 0.25}), F32({4}, {0.1, 0.2, -0.3, 0})},
             .expect = {F32({2, 4, 3}, {1.604137,   0.6432466, -1.947384, 0.6723347,  0.4195159,  -0.4918506,
                                        1.422511,   0.7815101, -3.104021, -0.1849051, -0.1685107, 0.3534158,
                                        0.9312552,  1.374502,  -2.005758, 0.3299156,  0.7369666,  -0.4668822,
                                        -0.6876096, 2.320077,  -2.532467, 0.1875309,  -0.3533157, 0.1657848})},
             .symbolic = true});
  CheckCase({.op = "InstanceNormalization",
             .inputs = {Random({2, 3, 2, 2}), Random({3}, 0.5, 2), Random({3}, -1, 1, 5)},
             .expect = {},
             .attrs = {{"epsilon", 0.01}}});
  CheckCase({.op = "InstanceNormalization",
             .inputs = {F32({2, 0, 3}, {}), F32({0}, {}), F32({0}, {})},
             .expect = {F32({2, 0, 3}, {})}});
}

TEST(InstanceNormalization, NamesWhatIsWrong) {
  CheckFails({.op = "InstanceNormalization", .inputs = {Random({2, 3}), Random({3}), Random({3})}, .expect = {}},
             "InstanceNormalization X has shape [2,3]; it needs [N, C, D1 ..].");
}

}  // namespace
}  // namespace tenon::testing

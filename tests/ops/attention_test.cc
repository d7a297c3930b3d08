// Attention. Listed values from torch.nn.functional.scaled_dot_product_attention of PyTorch 2.15 in float64; element i of
// every operand is cos(1.1 i + k) (0.5 + 0.1 (i mod 7)), rounded to float32, with k = 0, 1, 2 for Q, K, V.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/op_case.h"

namespace tenon::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor Wave(const Shape& shape, double k) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto x = static_cast<double>(i);
    values.push_back(std::cos(1.1 * x + k) * (0.5 + 0.1 * static_cast<double>(i % 7)));
  }
  return F32(shape, values);
}

std::vector<Tensor> Operands() { return {Wave({2, 2, 3, 4}, 0), Wave({2, 2, 5, 4}, 1), Wave({2, 2, 5, 3}, 2)}; }

OpCase Attention(std::vector<Tensor> inputs, std::vector<Tensor> expect, Attributes attrs = {}) {
  return {.op = "ScaledDotProductAttention",
          .inputs = std::move(inputs),
          .expect = std::move(expect),
          .attrs = std::move(attrs),
          .domain = "tenon",
          .gradient = {0, 1, 2},
          .other_floats = false};
}

std::vector<Tensor> With(std::vector<Tensor> inputs, Tensor mask) {
  inputs.push_back(std::move(mask));
  return inputs;
}

TEST(Attention, IsASoftmaxWeightedSum) {
  CheckCase(Attention(
      Operands(),
      {F32({2, 2, 3, 3}, {-0.213470416,   -0.158098492,  0.0201212867,  -0.210982751,  -0.0312938313, 0.040196243,
                          -0.150245471,   -0.0386329763, -0.0453317384, 0.113476297,   0.0275875355,  -0.0361752308,
                          -0.00417513843, 0.0143728688,  0.0967038382,  0.137949831,   -0.0351535733, -0.00439672261,
                          0.00685157214,  -0.0685865317, 0.0404279801,  0.0907307939,  0.0167671384,  0.143624411,
                          -0.0682928396,  0.0429953455,  0.287099692,   -0.0510053237, -0.139427027,  -0.174446516,
                          0.0395579386,   -0.136964066,  -0.329496117,  0.0606845801,  -0.0880321982, -0.311626592})}));
  const Tensor log_sum = F32({2, 2, 3}, {1.83150295, 1.62818104, 1.60977199, 1.49009673, 1.66336496, 1.96177616,
                                         1.80260184, 1.76035839, 1.58550545, 1.64064296, 1.59511884, 1.84753787});
  ExpectNear(Outputs(Attention(Operands(), {Tensor(), Tensor()}))[1], log_sum, 1e-5, "LogSumExp");
}

TEST(Attention, TakesHeadsSideBySide) {
  OpCase row = Attention(
      {Wave({3, 3, 8}, 0), Wave({3, 4, 8}, 1), Wave({3, 4, 8}, 2)},
      {F32({3, 3, 8},
           {0.0489737302, -0.250355239,  -0.319584376,  -0.000537658665, 0.376308719,  0.109906054,     -0.23506451,
            -0.239083058, -0.350972994,  -0.0791689924, 0.365162456,     0.464570398,  0.108951618,     -0.23721257,
            -0.359727593, -0.0453938101, 0.0254306865,  -0.12807531,     -0.163025776, -0.000189508381, 0.0939072885,
            -0.066938898, -0.0646879604, -0.0792240277, -0.00892377924,  -0.335257315, -0.222936073,    -0.0532466718,
            0.211910028,  0.25269252,    -0.0134369003, -0.225912666,    0.172481037,  0.284705036,     0.0621655564,
            -0.171586589, -0.253048294,  -0.0241660379, 0.302590281,     0.399075326,  0.195573007,     -0.127124662,
            -0.313303332, -0.206196185,  0.150477945,   0.425021307,     0.244877442,  -0.108590742,    -0.216250348,
            0.15037945,   0.430481305,   0.255019623,   -0.0234922592,   -0.432039144, -0.210227034,    0.0655345812,
            0.0259473494, 0.235258739,   0.203556816,   -0.0850021324,   -0.421933471, -0.12450649,     0.199724813,
            0.287311869,  -0.240008097,  -0.209668882,  0.0966914515,    0.35860958,   0.0993498105,    -0.325311804,
            -0.281424072, -0.130979438})},
      {{"heads", std::int64_t{2}}});
  CheckCase(row);
}

// Three heads of one token each: keys and values of another place would be seen at once.
TEST(Attention, TakesQueriesKeysAndValuesSideBySide) {
  const Tensor packed = Wave({2, 3, 12}, 0);
  std::vector<Tensor> apart;
  for (std::int64_t part = 0; part < 3; ++part) {
    Tensor one(DType::kF32, Shape{2, 3, 4});
    for (std::int64_t row = 0; row < 6; ++row)
      std::copy_n(packed.data<float>() + row * 12 + part * 4, 4, one.data<float>() + row * 4);
    apart.push_back(one);
  }
  const Attributes heads = {{"heads", std::int64_t{2}}};
  OpCase row = Attention({packed}, {Outputs(Attention(apart, {Tensor()}, heads))[0]}, heads);
  row.gradient = {0};
  CheckCase(row);
}

TEST(Attention, CausalReadsNothingBehindTheQuery) {
  CheckCase(Attention(
      Operands(),
      {F32({2, 2, 3, 3}, {-0.208073422, -0.599481106,  -0.343182564,  0.302532246,  0.570781982,   0.197393814,
                          -0.441545615, -0.327446135,  -0.114916589,  0.563714921,  0.511970282,   -0.220813677,
                          0.203281408,  0.231402288,   -0.0496246427, -0.159817525, -0.0666206719, 0.10476609,
                          -0.632584572, -0.0226493869, 0.790207207,   0.355009738,  -0.103998061,  -0.0646040108,
                          -0.198461152, 0.103540302,   0.528320413,   0.263981283,  -0.622452557,  -0.957403421,
                          0.0681130147, -0.186436176,  -0.3179095,    0.134545594,  -0.440645992,  -0.634026108})},
      {{"causal", std::int64_t{1}}, {"scale", 0.7}}));
}

TEST(Attention, AddsAMask) {
  CheckCase(Attention(
      With(Operands(), F32({3, 5}, {0, -kInf, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, -1.25})),
      {F32({2, 2, 3, 3}, {-0.410935626,  -0.474287216,  -0.0780189193, -0.210778424, -0.071198579,  0.0132709048,
                          -0.0968463084, 0.0258861768,  -0.0531408423, 0.326840983,  0.165019519,   -0.143762744,
                          0.0655506374,  0.0754680845,  0.0577189067,  -0.104956348, -0.0690171399, 0.120106767,
                          -0.115689419,  -0.0574840183, 0.117083338,   0.015448845,  0.0126647054,  0.21092011,
                          -0.0503980512, 0.011412952,   0.244070402,   0.0127044197, -0.378021322,  -0.491332111,
                          0.0590167841,  -0.17905882,   -0.383939434,  0.0968498458, 0.00395180159, -0.285804195})}));
  CheckCase(Attention(
      With(Operands(), Bool({3, 5}, {1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1})),
      {F32({2, 2, 3, 3}, {-0.0745043852, -0.155522347,   -0.178694088,  -0.163128126, 0.192960171,   0.110510549,
                          -0.150245471,  -0.0386329763,  -0.0453317384, 0.173765101,  0.180178531,   -0.0742359238,
                          0.0508273062,  -0.00389353659, -0.114191505,  0.137949831,  -0.0351535733, -0.00439672261,
                          -0.0823888507, -0.166643803,   -0.0407040055, 0.487224718,  -0.0511011194, -0.134192661,
                          -0.0682928396, 0.0429953455,   0.287099692,   0.128658732,  -0.186416602,  -0.498011439,
                          -0.0334933064, -0.455939085,   -0.44872822,   0.0606845801, -0.0880321982, -0.311626592})}));
}

// PyTorch's composed form gives NaN here; the fused operators of this project and of PyTorch give 0.
TEST(Attention, AQueryWithoutKeysGivesZero) {
  std::vector<Tensor> inputs = {Wave({1, 1, 2, 3}, 0), Wave({1, 1, 2, 3}, 1), F32({1, 1, 2, 1}, {5, 7})};
  const auto out = Outputs(Attention(With(inputs, Bool({2, 2}, {0, 0, 0, 1})), {Tensor(), Tensor()}));
  EXPECT_EQ(out[0].data<float>()[0], 0);
  EXPECT_NEAR(out[0].data<float>()[1], 7, 1e-6);
  EXPECT_EQ(out[1].data<float>()[0], -kInf);
  CheckCase(Attention(With(inputs, Bool({2, 2}, {0, 0, 0, 1})), {F32({1, 1, 2, 1}, {0, 7})}));
}

TEST(Attention, NanOfAKeyThatTakesPartStays) {
  std::vector<Tensor> inputs = {Wave({1, 1, 2, 2}, 0), F32({1, 1, 2, 2}, {1, 1, kNan, 1}), F32({1, 1, 2, 1}, {5, 7})};
  const auto out = Outputs(Attention(inputs, {Tensor()}, {{"causal", std::int64_t{1}}}));
  EXPECT_EQ(out[0].data<float>()[0], 5);
  EXPECT_TRUE(std::isnan(out[0].data<float>()[1]));
}

// With V the identity the result is the dropped probabilities, which Dropout of the same key and offset gives as well.
TEST(Attention, DropsAsDropoutOfTheProbabilities) {
  const RandomState random{77, 3};
  const Tensor q = Wave({1, 2, 3, 4}, 0), k = Wave({1, 2, 4, 4}, 1);
  std::vector<double> identity;
  for (int i = 0; i < 32; ++i) identity.push_back(i % 16 % 5 == 0 ? 1 : 0);
  OpCase plain = Attention({q, k, F32({1, 2, 4, 4}, identity)}, {Tensor(), Tensor(), Tensor()});
  plain.random = random;
  OpCase dropped = plain;
  dropped.attrs.Set("dropout", 0.4);
  const Tensor p = Outputs(plain)[0];
  const Tensor want = Outputs(
      {.op = "Dropout", .inputs = {p, F32({}, {0.4}), Bool({}, {1})}, .expect = {Tensor()}, .random = random})[0];
  const auto got = Outputs(dropped);
  ExpectNear(got[0], want, 1e-6, "dropped probabilities");
  EXPECT_EQ(got[2].data<std::int64_t>()[0], 77);
  EXPECT_EQ(got[2].data<std::int64_t>()[1], 3);
  dropped.expect = {want};
  CheckCase(dropped);
}

TEST(Attention, NamesWhatDoesNotFit) {
  CheckFails(Attention({Ramp({2, 3, 4}), Ramp({2, 3, 4}), Ramp({2, 3, 4})}, {}),
             "Attention takes operands of rank 4 (heads is 0); Q has shape [2,3,4], K has shape [2,3,4], V has shape "
             "[2,3,4].");
  CheckFails(Attention({Ramp({2, 3, 4}), Ramp({2, 3, 4}), Ramp({2, 3, 4})}, {}, {{"heads", std::int64_t{3}}}),
             "The last dim of an attention operand (4) is not a multiple of its heads (3).");
  CheckFails(Attention({Ramp({2, 3, 9})}, {}, {{"heads", std::int64_t{2}}}),
             "The last dim of an attention operand (9) is not a multiple of three times its heads (2).");
  CheckFails(Attention({Ramp({1, 2, 3, 4}), Ramp({1, 2, 5, 4}), Ramp({1, 2, 6, 4})}, {}),
             "Attention has 5 keys and 6 values: K [1,2,5,4], V [1,2,6,4].");
  CheckFails(Attention(With(Operands(), Ramp({4, 5})), {}),
             "Attention mask has shape [4,5]; it must broadcast to [2,2,3,5].");
}

}  // namespace
}  // namespace tenon::testing

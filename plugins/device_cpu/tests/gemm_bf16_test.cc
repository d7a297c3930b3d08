// Products of bf16, and of f32 split into bf16, against sums in double precision over the same operands.
#include "plugins/device_cpu/compute/gemm_bf16.h"

#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "plugins/device_cpu/compute/tile_permission.h"
#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {

namespace avx512_bf16 {
extern const Bf16Routines kBf16Routines;
}
namespace emulated_tiles {
extern const Bf16Products kTileProducts;
}

namespace {

float Wide(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

Array<uint16_t> RandomBf16(int64_t count, unsigned seed) {
  const auto x = Random(count, seed);
  Array<uint16_t> out(count);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &x[i], sizeof bits);
    out[i] = static_cast<uint16_t>(bits >> 16);
  }
  return out;
}

struct Case {
  int64_t m, n, k;
};

struct Unit {
  const char* name;
  const Bf16Products* products;
};
std::ostream& operator<<(std::ostream& out, const Unit& unit) { return out << unit.name; }

// On vectors, on tiles in plain code, and on the processor's own tiles where it has them.
std::vector<Unit> Units() {
  std::vector<Unit> units{{"vectors", &avx512_bf16::kBf16Routines.products},
                          {"emulated_tiles", &emulated_tiles::kTileProducts}};
  if (MultipliesInTiles()) units.push_back({"tiles", &FindBf16Routines()->products});
  return units;
}

class GemmBf16 : public testing::TestWithParam<Unit> {
 protected:
  static const Bf16Products& products() { return *GetParam().products; }

  void SetUp() override {
    if (FindBf16Routines() == nullptr) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  }

  void Check(Case c, bool ta, bool tb, bool with_bias, bool relu, int64_t threads) {
    const auto a = RandomBf16(c.m * c.k, 1), b = RandomBf16(c.k * c.n, 2), bias = RandomBf16(c.n, 3);
    Array<uint16_t> y(c.m * c.n, 0xffff);
    GemmBf16Args g;
    g.m = c.m, g.n = c.n, g.k = c.k;
    g.a = a.get(), g.a_row = ta ? 1 : c.k, g.a_col = ta ? c.m : 1;
    g.b = b.get(), g.b_row = tb ? 1 : c.n, g.b_col = tb ? c.k : 1;
    g.c = y.get(), g.c_row = c.n, g.alpha = 0.5f, g.relu = relu;
    if (with_bias) g.bias = bias.get();
    Workspace space(products().gemm_workspace(g, threads));
    products().gemm(g, space.get(), Threads(threads));
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < c.k; ++p) {
          const double term = static_cast<double>(Wide(a[i * g.a_row + p * g.a_col])) *
                              static_cast<double>(Wide(b[p * g.b_row + j * g.b_col]));
          sum += term;
          size += std::abs(term);
        }
        double want = 0.5 * sum + (with_bias ? static_cast<double>(Wide(bias[j])) : 0);
        if (relu) want = std::max(want, 0.0);
        ASSERT_NEAR(want, Wide(y[i * c.n + j]), std::abs(want) / 256 + size * 1e-6 + 1e-30)
            << c.m << "x" << c.n << "x" << c.k << " ta " << ta << " tb " << tb << " at " << i << ", " << j;
      }
  }
};

TEST_P(GemmBf16, EveryShapeAndTranspose) {
  const Case cases[] = {{1, 1, 1},   {1, 10, 3},    {12, 32, 16}, {13, 33, 17},  {5, 16, 31},
                        {7, 48, 64}, {25, 100, 35}, {2, 17, 2},   {40, 10, 129}, {33, 65, 2051}};
  for (const Case& c : cases)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Check(c, ta, tb, true, true, 1);
        Check(c, ta, tb, false, false, 3);
      }
}

// To the nearest, halves to even; for finite numbers.
uint16_t Nearest(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
Array<uint16_t> NearestOf(const Array<float>& x) {
  Array<uint16_t> out(x.size());
  for (int64_t i = 0; i < x.size(); ++i) out[i] = Nearest(x[i]);
  return out;
}

// Operands in f32 count as the nearest bf16: bit for bit what operands in bf16 give.
TEST_P(GemmBf16, WideOperandsAndResults) {
  for (const Case& c : {Case{5, 33, 31}, {13, 64, 70}, {25, 100, 2051}, {12, 32, 64}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const auto a = RandomBf16(c.m * c.k, 1);
        const auto b = Random(c.k * c.n, 2), bias = Random(c.n, 3);
        const auto short_b = NearestOf(b), short_bias = NearestOf(bias);
        Array<uint16_t> y(c.m * c.n), from_wide(c.m * c.n);
        Array<float> wide(c.m * c.n);
        GemmBf16Args g;
        g.m = c.m, g.n = c.n, g.k = c.k, g.a = a.get(), g.c_row = c.n;
        g.a_row = ta ? 1 : c.k, g.a_col = ta ? c.m : 1, g.b_row = tb ? 1 : c.n, g.b_col = tb ? c.k : 1;
        Workspace space(products().gemm_workspace(g, 1));
        g.b = short_b.get(), g.bias = short_bias.get(), g.c = y.get();
        products().gemm(g, space.get(), Threads(1));
        g.b = g.bias = nullptr, g.wide_b = b.get(), g.wide_bias = bias.get(), g.c = from_wide.get();
        products().gemm(g, space.get(), Threads(1));
        g.c = nullptr, g.wide_c = wide.get();
        products().gemm(g, space.get(), Threads(1));
        for (int64_t i = 0; i < c.m * c.n; ++i) {
          ASSERT_EQ(y[i], from_wide[i]) << c.m << "x" << c.n << "x" << c.k << " ta " << ta << " tb " << tb << " at "
                                        << i;
          ASSERT_EQ(Wide(y[i]), wide[i]) << c.m << "x" << c.n << "x" << c.k << " ta " << ta << " tb " << tb << " at "
                                         << i;
        }
      }
}

// Gelu by its definition, of the rounded result.
TEST_P(GemmBf16, GeluOfTheResultGoesBesideItOrInItsPlace) {
  for (const Case& c : {Case{5, 33, 31}, {25, 100, 2051}, {700, 70, 200}, {3, 20, 0}})
    for (const bool tanh : {false, true}) {
      const auto a = RandomBf16(c.m * c.k, 1), b = RandomBf16(c.k * c.n, 2), bias = RandomBf16(c.n, 3);
      Array<uint16_t> x(c.m * c.n), y(c.m * c.n), alone(c.m * c.n);
      GemmBf16Args g;
      g.m = c.m, g.n = c.n, g.k = c.k, g.a = a.get(), g.b = b.get(), g.bias = bias.get();
      g.a_row = c.k, g.b_row = g.c_row = c.n, g.gelu_tanh = tanh;
      Workspace space(products().gemm_workspace(g, 2));
      g.c = x.get(), g.gelu = y.get();
      products().gemm(g, space.get(), Threads(2));
      g.c = g.gelu = alone.get();
      products().gemm(g, space.get(), Threads(2));
      for (int64_t i = 0; i < c.m * c.n; ++i) {
        const double v = Wide(x[i]);
        const double want = tanh ? v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))
                                 : v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
        ASSERT_NEAR(want, Wide(y[i]), std::abs(want) / 256 + 1e-6);
        ASSERT_EQ(alone[i], y[i]);
      }
    }
}

TEST_P(GemmBf16, LongProductsAreCut) {
  Check({14, 35, 5000}, false, true, true, false, 1);
  Check({14, 35, 4999}, true, false, false, true, 2);
}

TEST_P(GemmBf16, EmptyProductsAreTheBias) {
  Check({3, 20, 0}, false, false, true, false, 1);
  Check({0, 20, 4}, false, false, true, false, 1);
}

TEST_P(GemmBf16, SameBitsForAnyNumberOfThreads) {
  const auto a = RandomBf16(64 * 200, 1), b = RandomBf16(200 * 96, 2);
  Array<uint16_t> one(64 * 96), four(64 * 96);
  for (const int64_t threads : {1, 4}) {
    GemmBf16Args g;
    g.m = 64, g.n = 96, g.k = 200, g.a = a.get(), g.a_row = 200, g.b = b.get(), g.b_row = 96, g.c_row = 96;
    g.c = threads == 1 ? one.get() : four.get();
    Workspace space(products().gemm_workspace(g, threads));
    products().gemm(g, space.get(), Threads(threads));
  }
  for (int64_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], four[i]);
}

TEST_P(GemmBf16, MaskKeepsWhereYIsPositiveOrNaN) {
  const uint16_t kOne = 0x3f80, kMinusOne = 0xbf80, kNaN = 0x7fc0, kTwo = 0x4000;
  const int64_t rows = 2, columns = 17;
  Array<uint16_t> y(rows * columns, kOne), dy(rows * columns, kTwo), g(rows * columns), sums(columns);
  y[0] = kMinusOne, y[1] = 0, y[2] = kNaN;
  MaskBf16Args args{rows, columns, y.get(), dy.get(), g.get(), sums.get(), 1.0f};
  FindBf16Routines()->mask_gradient(args, Threads(1));
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(g[1], 0);
  EXPECT_EQ(g[2], kTwo);
  EXPECT_EQ(Wide(sums[0]), 2);
  EXPECT_EQ(Wide(sums[16]), 4);
}

// f32 products made of three bf16 ones.
class SplitGemm : public GemmBf16 {
 protected:
  struct Options {
    bool ta = false, tb = false, bias = false, relu = false, accumulate = false, mask = false;
    float alpha = 1.0f;
    int64_t threads = 1;
  };

  // sqrt(sum of squared errors / sum of squares) over all results.
  static double RelativeError(Case c, const Options& o) {
    const auto a = Random(c.m * c.k, 1), b = Random(c.k * c.n, 2), bias = Random(c.n, 3), old = Random(c.m * c.n, 4),
               mask = Random(c.m * c.n, 5);
    Array<float> y(c.m * c.n, std::nanf(""));
    GemmArgs g;
    g.m = c.m, g.n = c.n, g.k = c.k;
    g.a = a.get(), g.a_row = o.ta ? 1 : c.k, g.a_col = o.ta ? c.m : 1;
    g.b = b.get(), g.b_row = o.tb ? 1 : c.n, g.b_col = o.tb ? c.k : 1;
    g.c = y.get(), g.c_row = c.n, g.alpha = o.alpha, g.relu = o.relu;
    if (o.bias) g.bias = bias.get();
    if (o.mask) g.mask = mask.get(), g.mask_row = c.n;
    g.accumulate = o.accumulate;
    if (o.accumulate) std::memcpy(y.get(), old.get(), static_cast<size_t>(c.m * c.n) * sizeof(float));
    Workspace space(products().split_workspace(g, o.threads));
    products().split_gemm(g, space.get(), Threads(o.threads));
    double errors = 0, squares = 0;
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double want = 0;
        for (int64_t p = 0; p < c.k; ++p)
          want += static_cast<double>(a[i * g.a_row + p * g.a_col]) * static_cast<double>(b[p * g.b_row + j * g.b_col]);
        want *= static_cast<double>(o.alpha);
        if (o.accumulate) want += static_cast<double>(old[i * c.n + j]);
        if (o.bias) want += static_cast<double>(bias[j]);
        if (o.relu) want = std::max(want, 0.0);
        if (o.mask && mask[i * c.n + j] <= 0) want = 0;
        errors += (want - y[i * c.n + j]) * (want - y[i * c.n + j]);
        squares += want * want;
      }
    return squares > 0 ? std::sqrt(errors / squares) : std::sqrt(errors);
  }
};

constexpr double kMostError = 1e-5;

TEST_P(SplitGemm, EveryShapeAndTranspose) {
  const Case cases[] = {{1, 1, 1},   {1, 10, 3},    {12, 32, 16}, {13, 33, 17},  {5, 16, 31},   {24, 64, 8},
                        {7, 48, 64}, {25, 100, 35}, {2, 17, 2},   {40, 10, 129}, {33, 65, 2051}};
  for (const Case& c : cases)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Options o{.ta = ta, .tb = tb};
        EXPECT_LT(RelativeError(c, o), kMostError) << c.m << "x" << c.n << "x" << c.k << " ta " << ta << " tb " << tb;
        o.bias = o.relu = true, o.alpha = 0.5f, o.threads = 3;
        EXPECT_LT(RelativeError(c, o), kMostError) << c.m << "x" << c.n << "x" << c.k << " ta " << ta << " tb " << tb;
      }
}

TEST_P(SplitGemm, LongProductsAddMaskAndScale) {
  EXPECT_LT(RelativeError({14, 35, 5000}, {.tb = true, .accumulate = true, .alpha = 2}), kMostError);
  EXPECT_LT(RelativeError({14, 35, 4999}, {.ta = true, .bias = true, .mask = true, .threads = 2}), kMostError);
  EXPECT_LT(RelativeError({3, 20, 0}, {.bias = true}), kMostError);
}

// A large square product, alone: what the documentation promises, and what bf16 alone does not reach.
TEST_P(SplitGemm, ErrorIsFarBelowThatOfBf16) {
  const double error = RelativeError({256, 256, 1024}, {});
  RecordProperty("relative_rms_error", std::to_string(error));
  EXPECT_LT(error, 5e-6);
  EXPECT_GT(error, 1e-8) << "the exact routine ran";
}

TEST_P(SplitGemm, LargestAndNotFiniteOperands) {
  constexpr float kMost = 3.4e38f;  // rounds to infinity in bf16
  const float inf = std::numeric_limits<float>::infinity();
  const auto product = [](float x) {
    const float one = 1.0f;
    float y = 0;
    GemmArgs g;
    g.m = g.n = g.k = 1, g.a = &x, g.a_row = 1, g.b = &one, g.b_row = 1, g.c = &y, g.c_row = 1;
    Workspace space(products().split_workspace(g, 1));
    products().split_gemm(g, space.get(), Threads(1));
    return y;
  };
  EXPECT_NEAR(product(kMost) / kMost, 1.0f, 1e-5f);
  EXPECT_NEAR(product(-kMost) / kMost, -1.0f, 1e-5f);
  EXPECT_FALSE(std::isfinite(product(inf)));
  EXPECT_TRUE(std::isnan(product(std::nanf(""))));
  EXPECT_EQ(product(0.0f), 0.0f);
}

const auto kNameOf = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Units, GemmBf16, testing::ValuesIn(Units()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Units, SplitGemm, testing::ValuesIn(Units()), kNameOf);

// Why a processor that has tiles does not multiply in them is never the routine itself.
TEST(Tiles, GiveTheProductsOfVectors) {
  if (FindBf16Routines() == nullptr) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  EXPECT_TRUE(GiveSameProducts(avx512_bf16::kBf16Routines.products, emulated_tiles::kTileProducts));
  EXPECT_EQ(MultipliesInTiles(), MayUseTiles());
}

}  // namespace
}  // namespace tenon::cpu

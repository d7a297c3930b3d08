// Products of small matrices on the tile unit against sums in double precision over the same operands: matrices that fill tiles and
// such that do not, rows and columns of A side by side, sums that are added to.
#include "plugins/device_cpu/compute/tile_multiplier.h"

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/compute/tile_permission.h"
#include "plugins/device_cpu/tests/support.h"
#include "plugins/device_cpu/tests/tile_multipliers.h"

namespace tenon::cpu {
namespace {

constexpr float kBeyond = 1e30f;  // around the result

class TileMultipliers : public testing::TestWithParam<TilesOfTest> {
 protected:
  void SetUp() override {
    if (FindBf16Routines() == nullptr) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  }

  void Check(int64_t rows, int64_t columns, int64_t pairs, bool transposed, bool add) {
    // Operands end where their memory ends; C has room around it.
    const int64_t b_row = columns + 16, c_row = columns + 3;
    const auto a = Rounded(Random(rows * pairs * 2, 1)), b = Rounded(Random(pairs * b_row * 2, 2));
    const auto wide_a = Widened(a), wide_b = Widened(b), before = Random(rows * c_row, 3);
    Array<float> c(rows * c_row, kBeyond);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) c[i * c_row + j] = before[i * c_row + j];
    PairMatrices m;
    m.rows = rows, m.columns = columns, m.pairs = pairs;
    m.a = a.get(), m.a_row = transposed ? 1 : pairs, m.a_pair = transposed ? rows : 1;
    m.b = b.get(), m.b_pair = b_row, m.c = c.get(), m.c_row = c_row, m.add = add;
    {
      const TileScope scope(GetParam().multiplier);
      GetParam().multiplier->multiply(m);
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < c_row; ++j) {
        double want = add ? before[i * c_row + j] : 0.0f;
        for (int64_t p = 0; p < pairs && j < columns; ++p)
          for (int64_t half = 0; half < 2; ++half)
            want += static_cast<double>(wide_a[(i * m.a_row + p * m.a_pair) * 2 + half]) *
                    wide_b[(p * b_row + j) * 2 + half];
        if (j >= columns) want = kBeyond;
        ASSERT_NEAR(c[i * c_row + j], want, 1e-5 * (1 + std::abs(want)) + 1e-5 * static_cast<double>(pairs))
            << rows << "x" << columns << "x" << pairs << " " << transposed << add << " at " << i << " " << j;
      }
  }
};
INSTANTIATE_TEST_SUITE_P(Units, TileMultipliers, testing::ValuesIn(AllTileMultipliers()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(TileMultipliers, AgreeWithDoublePrecision) {
  for (const bool transposed : {false, true})
    for (const bool add : {false, true})
      for (const int64_t rows : {1, 8, 16, 17, 32, 33, 50, 64})
        for (const int64_t columns : {16, 32, 48, 80})
          for (const int64_t pairs : {1, 8, 15, 16, 17, 32, 51, 256, 300}) Check(rows, columns, pairs, transposed, add);
}

TEST_P(TileMultipliers, AreTrusted) { EXPECT_TRUE(MultipliesExactly(*GetParam().multiplier)); }

// One that forgets a pair, or what C holds, is not.
TEST(TileMultiplierCheck, FindsWrongSums) {
  if (FindBf16Routines() == nullptr) GTEST_SKIP() << "This processor has no instructions for bf16 (AVX-512 BF16).";
  const TileMultiplier& right = emulated_tiles::kTileMultiplier;
  const auto forgets_a_pair = [](const PairMatrices& m) {
    PairMatrices less = m;
    --less.pairs;
    emulated_tiles::kTileMultiplier.multiply(less);
  };
  const auto forgets_c = [](const PairMatrices& m) {
    PairMatrices fresh = m;
    fresh.add = false;
    emulated_tiles::kTileMultiplier.multiply(fresh);
  };
  EXPECT_FALSE(MultipliesExactly({right.begin, forgets_a_pair, right.end}));
  EXPECT_FALSE(MultipliesExactly({right.begin, forgets_c, right.end}));
}

}  // namespace
}  // namespace tenon::cpu

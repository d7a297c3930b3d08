#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false, bias = false, relu = false, accumulate = false, mask = false;
  float alpha = 1.0f;
};

void Check(const Routines& r, const Case& t, int64_t threads) {
  const int64_t pad = 3;
  GemmArgs g;
  g.m = t.m, g.n = t.n, g.k = t.k, g.alpha = t.alpha, g.relu = t.relu, g.accumulate = t.accumulate;
  const int64_t lda = (t.a_transposed ? t.m : t.k) + pad, ldb = (t.b_transposed ? t.k : t.n) + pad, ldc = t.n + pad;
  // Operands end exactly at their last element.
  auto extent = [&](int64_t rows, int64_t cols) {
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * (cols + pad) + cols;
  };
  const auto a = Random(t.a_transposed ? extent(t.k, t.m) : extent(t.m, t.k), 1);
  const auto b = Random(t.b_transposed ? extent(t.n, t.k) : extent(t.k, t.n), 2);
  auto c = Random(extent(t.m, t.n), 3);
  const auto bias = Random(t.n, 4);
  const auto mask = Random(extent(t.m, t.n), 5);
  Array<float> old(c.size());
  for (int64_t i = 0; i < c.size(); ++i) old[i] = c[i];
  g.a = a.get(), g.a_row = t.a_transposed ? 1 : lda, g.a_col = t.a_transposed ? lda : 1;
  g.b = b.get(), g.b_row = t.b_transposed ? 1 : ldb, g.b_col = t.b_transposed ? ldb : 1;
  g.c = c.get(), g.c_row = ldc;
  if (t.bias) g.bias = bias.get();
  if (t.mask) g.mask = mask.get(), g.mask_row = ldc;
  Workspace space(r.gemm_workspace(g, threads));
  r.gemm(g, space.get(), Threads(threads));
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double sum = 0, size = 1;
      for (int64_t p = 0; p < t.k; ++p) {
        const double term = double{g.a[i * g.a_row + p * g.a_col]} * double{g.b[p * g.b_row + j * g.b_col]};
        sum += term;
        size += std::abs(term);
      }
      sum *= t.alpha;
      if (t.accumulate) sum += old[i * ldc + j];
      if (t.bias) sum += bias[j];
      if (t.relu) sum = sum > 0 ? sum : 0;
      if (t.mask) sum = mask[i * ldc + j] > 0 ? sum : 0;
      ASSERT_NEAR(c[i * ldc + j], sum, 1e-6 * size)
          << r.isa << " lanes " << r.lanes << " " << t.m << "x" << t.n << "x" << t.k << " at " << i << "," << j
          << (t.a_transposed ? " A^T" : "") << (t.b_transposed ? " B^T" : "");
    }
    for (int64_t j = t.n; j < ldc && i * ldc + j < c.size(); ++j) ASSERT_EQ(c[i * ldc + j], old[i * ldc + j]);
  }
}

TEST(Gemm, AgreesWithDoublePrecisionForAllShapesAndTransposes) {
  const int64_t sizes[][3] = {{1, 1, 1},     {1, 17, 40},  {2, 5, 3},    {3, 64, 33},  {5, 7, 9},
                              {6, 16, 8},    {7, 33, 1},   {12, 10, 84}, {32, 10, 84}, {32, 120, 400},
                              {84, 120, 32}, {13, 31, 29}, {33, 15, 64}, {10, 300, 5}};
  for (const Routines* r : AllRoutines())
    for (auto& s : sizes)
      for (int form = 0; form < 4; ++form) {
        Check(*r, {s[0], s[1], s[2], (form & 1) != 0, (form & 2) != 0}, 1);
        Check(*r, {s[0], s[1], s[2], (form & 1) != 0, (form & 2) != 0, true, true}, 2);
      }
}

TEST(Gemm, FinishesAsTold) {
  for (const Routines* r : AllRoutines())
    for (int form = 0; form < 4; ++form)
      for (int finish = 0; finish < 16; ++finish)
        for (int64_t m : {2, 19, 70})
          Check(*r,
                {m, 37, 21, (form & 1) != 0, (form & 2) != 0, (finish & 1) != 0, (finish & 2) != 0, (finish & 4) != 0,
                 (finish & 8) != 0, 0.5f},
                1);
}

// Definition of Gelu: x Phi(x), and its form with a hyperbolic tangent.
double GeluOf(double x, bool tanh) {
  if (tanh) return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

TEST(Gemm, GeluOfTheResultGoesBesideItOrInItsPlace) {
  const int64_t sizes[][3] = {{1, 17, 40}, {2, 40, 300}, {13, 31, 29}, {25, 64, 1100}, {40, 5, 8}, {3, 20, 0}};
  for (const Routines* r : AllRoutines())
    for (const auto& size : sizes)
      for (int form = 0; form < 8; ++form) {
        const int64_t m = size[0], n = size[1], k = size[2];
        const auto a = Random(m * k, 1), b = Random(k * n, 2), bias = Random(n, 3);
        Array<float> c(m * n), y(m * n), alone(m * n);
        GemmArgs g;
        g.m = m, g.n = n, g.k = k, g.a = a.get(), g.b = b.get(), g.bias = bias.get(), g.c_row = n;
        g.a_row = (form & 1) != 0 ? 1 : k, g.a_col = (form & 1) != 0 ? m : 1;
        g.b_row = (form & 2) != 0 ? 1 : n, g.b_col = (form & 2) != 0 ? k : 1;
        g.gelu_tanh = (form & 4) != 0;
        Workspace space(r->gemm_workspace(g, 2));
        g.c = c.get(), g.gelu = y.get();
        r->gemm(g, space.get(), Threads(2));
        g.c = g.gelu = alone.get();
        r->gemm(g, space.get(), Threads(2));
        for (int64_t i = 0; i < m * n; ++i) {
          const double x = double{c[i]};
          ASSERT_NEAR(y[i], GeluOf(x, g.gelu_tanh), 1e-6 * (1 + std::abs(x)))
              << r->isa << " " << m << "x" << n << "x" << k;
          ASSERT_EQ(alone[i], y[i]) << r->isa;
        }
      }
}

TEST(Gemm, CutsLongProducts) {
  for (const Routines* r : AllRoutines())
    for (int form = 0; form < 4; ++form) Check(*r, {9, 40, 2500, (form & 1) != 0, (form & 2) != 0, true, true}, 2);
}

TEST(Gemm, EmptyOperandsAreLegal) {
  for (const Routines* r : AllRoutines()) {
    Check(*r, {0, 4, 4}, 1);
    Check(*r, {4, 0, 4}, 1);
    Check(*r, {4, 4, 0, false, false, true, true}, 1);
    Check(*r, {4, 4, 0, false, false, false, false, true}, 1);
  }
}

TEST(Gemm, SameBitsForAnyNumberOfThreads) {
  for (const Routines* r : AllRoutines()) {
    const auto a = Random(200 * 300, 1), b = Random(300 * 500, 2);
    Array<float> one(200 * 500), two(200 * 500);
    GemmArgs g;
    g.m = 200, g.n = 500, g.k = 300, g.a = a.get(), g.a_row = 300, g.b = b.get(), g.b_row = 500, g.c_row = 500;
    for (int64_t threads : {1, 3}) {
      g.c = threads == 1 ? one.get() : two.get();
      Workspace space(r->gemm_workspace(g, threads));
      r->gemm(g, space.get(), Threads(threads));
    }
    for (int64_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], two[i]) << r->isa;
  }
}

TEST(Gemm, NanPassesThroughRelu) {
  for (const Routines* r : AllRoutines()) {
    Array<float> a(4, std::nanf("")), b(4, 1.0f), c(4);
    GemmArgs g;
    g.m = g.n = g.k = 2, g.a = a.get(), g.a_row = 2, g.b = b.get(), g.b_row = 2, g.c = c.get(), g.c_row = 2,
    g.relu = true;
    Workspace space(r->gemm_workspace(g, 1));
    r->gemm(g, space.get(), {});
    EXPECT_TRUE(std::isnan(c[0])) << r->isa;
  }
}

}  // namespace
}  // namespace tenon::cpu

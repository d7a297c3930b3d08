#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

double Exact(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kRelu:
      return x > 0 ? x : 0;
    case UnaryOp::kLeakyRelu:
      return x < 0 ? 0.1f * x : x;
    case UnaryOp::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return std::abs(x);
    case UnaryOp::kReciprocal:
      return 1 / x;
    case UnaryOp::kElu:
      return x < 0 ? 0.1f * std::expm1(x) : x;
    case UnaryOp::kHardSigmoid:
      return std::min(1.0, std::max(0.0, double{0.1f} * x + 0.25));
    case UnaryOp::kHardSwish:
      return x * std::min(6.0, std::max(0.0, x + 3)) / 6;
    case UnaryOp::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case UnaryOp::kSwish:
      return x / (1 + std::exp(-double{0.1f} * x));
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kRound:
      return std::nearbyint(x);  // halves to even
    case UnaryOp::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryOp::kClip:
      return std::min<double>(0.25f, std::max<double>(0.1f, x));
  }
  return 0;
}

constexpr UnaryOp kAllUnary[] = {UnaryOp::kRelu,      UnaryOp::kLeakyRelu,  UnaryOp::kSigmoid, UnaryOp::kTanh,
                                 UnaryOp::kExp,       UnaryOp::kLog,        UnaryOp::kSqrt,    UnaryOp::kNeg,
                                 UnaryOp::kAbs,       UnaryOp::kReciprocal, UnaryOp::kElu,     UnaryOp::kHardSigmoid,
                                 UnaryOp::kHardSwish, UnaryOp::kSoftplus,   UnaryOp::kSwish,   UnaryOp::kErf,
                                 UnaryOp::kSin,       UnaryOp::kCos,        UnaryOp::kFloor,   UnaryOp::kCeil,
                                 UnaryOp::kRound,     UnaryOp::kSign,       UnaryOp::kClip};

TEST(Unary, FewUlpsFromDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (const UnaryOp op : kAllUnary)
      for (const float range : {0.01f, 1.0f, 30.0f, 87.0f}) {
        const bool positive = op == UnaryOp::kLog || op == UnaryOp::kSqrt;
        const auto x = Random(1003, 1, positive ? 1e-6f : -range, range);
        Array<float> y(1003);
        UnaryArgs a;
        a.op = op, a.count = 1003, a.alpha = 0.1f, a.beta = 0.25f, a.x = x.get(), a.y = y.get();
        r->f32.unary(a, Threads(2));
        for (int64_t i = 0; i < 1003; ++i) {
          const double want = Exact(op, x[i]);
          // HardSigmoid takes the difference of two numbers; erf has a longer formula; exp magnifies the rounding of
          // Swish's alpha * x.
          const bool longer = op == UnaryOp::kErf || op == UnaryOp::kSwish;
          const bool waves = op == UnaryOp::kSin || op == UnaryOp::kCos;  // their zeros lie between floats
          const double share = longer ? 1e-6 : 4e-7, slack = op == UnaryOp::kHardSigmoid ? 3e-8 : waves ? 1e-7 : 1e-37;
          ASSERT_NEAR(y[i], want, share * std::abs(want) + slack)
              << r->isa << " op " << static_cast<int>(op) << " of " << x[i];
        }
      }
}

TEST(Unary, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  for (const Routines* r : AllRoutines()) {
    const auto apply = [&](UnaryOp op, float x) {
      float y = 0;
      UnaryArgs a;
      a.op = op, a.count = 1, a.alpha = 0.1f, a.beta = 0.25f, a.x = &x, a.y = &y;
      r->f32.unary(a, {});
      return y;
    };
    for (const UnaryOp op : kAllUnary) EXPECT_TRUE(std::isnan(apply(op, nan))) << r->isa << static_cast<int>(op);
    EXPECT_EQ(apply(UnaryOp::kExp, inf), inf);
    EXPECT_EQ(apply(UnaryOp::kExp, -inf), 0.0f);
    EXPECT_EQ(apply(UnaryOp::kExp, 100.0f), inf);
    EXPECT_EQ(apply(UnaryOp::kExp, 0.0f), 1.0f);
    EXPECT_EQ(apply(UnaryOp::kLog, 0.0f), -inf);
    EXPECT_EQ(apply(UnaryOp::kLog, inf), inf);
    EXPECT_EQ(apply(UnaryOp::kLog, 1.0f), 0.0f);
    EXPECT_TRUE(std::isnan(apply(UnaryOp::kLog, -1.0f)));
    EXPECT_EQ(apply(UnaryOp::kTanh, inf), 1.0f);
    EXPECT_EQ(apply(UnaryOp::kTanh, -inf), -1.0f);
    EXPECT_EQ(apply(UnaryOp::kSigmoid, -inf), 0.0f);
    EXPECT_EQ(apply(UnaryOp::kSigmoid, inf), 1.0f);
    EXPECT_EQ(apply(UnaryOp::kErf, inf), 1.0f);
    EXPECT_EQ(apply(UnaryOp::kErf, -5.0f), -1.0f);
    EXPECT_EQ(apply(UnaryOp::kElu, -inf), -0.1f);
    EXPECT_EQ(apply(UnaryOp::kHardSwish, -inf), 0.0f);
    EXPECT_EQ(apply(UnaryOp::kSoftplus, inf), inf);
    EXPECT_EQ(apply(UnaryOp::kSoftplus, -inf), 0.0f);
    EXPECT_NEAR(apply(UnaryOp::kSin, 1e6f), std::sin(1e6), 1e-7);
    EXPECT_NEAR(apply(UnaryOp::kCos, -3e9f), std::cos(-3e9), 1e-7);
    EXPECT_TRUE(std::signbit(apply(UnaryOp::kSin, -0.0f)));
    EXPECT_EQ(apply(UnaryOp::kRound, 2.5f), 2.0f);
    EXPECT_EQ(apply(UnaryOp::kRound, -1.5f), -2.0f);
    EXPECT_EQ(apply(UnaryOp::kFloor, -0.25f), -1.0f);
    EXPECT_TRUE(std::signbit(apply(UnaryOp::kCeil, -0.25f)));
    for (const UnaryOp op : {UnaryOp::kFloor, UnaryOp::kCeil, UnaryOp::kRound})
      for (const float whole : {-inf, -3e9f, 16777217.0f, inf}) EXPECT_EQ(apply(op, whole), whole);
    EXPECT_EQ(apply(UnaryOp::kSign, 0.0f), 0.0f);
    EXPECT_EQ(apply(UnaryOp::kSign, -inf), -1.0f);
    EXPECT_NEAR(apply(UnaryOp::kExp, -100.0f), 3.8e-44, 2e-45);
    EXPECT_NEAR(apply(UnaryOp::kLog, 1e-42f), std::log(double{1e-42f}), 1e-5);
  }
}

TEST(Binary, BroadcastsInEveryDirection) {
  for (const Routines* r : AllRoutines())
    for (int form = 0; form < 4; ++form) {
      BinaryArgs p;
      p.rank = 3, p.dims[0] = 3, p.dims[1] = 2, p.dims[2] = 21;
      const auto a = Random(126, 1), b = Random(126, 2);
      Array<float> out(126);
      const int64_t whole[] = {42, 21, 1}, column[] = {1, 0, 0}, row[] = {0, 0, 1}, one[] = {0, 0, 0};
      const int64_t* forms[][2] = {{whole, whole}, {whole, row}, {column, whole}, {one, one}};
      for (int d = 0; d < 3; ++d) p.a_strides[d] = forms[form][0][d], p.b_strides[d] = forms[form][1][d];
      p.a = a.get(), p.b = b.get(), p.out = out.get(), p.op = BinaryOp::kSub;
      r->f32.binary(p, Threads(2));
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 2; ++j)
          for (int64_t k = 0; k < 21; ++k) {
            const float x = a[i * p.a_strides[0] + j * p.a_strides[1] + k * p.a_strides[2]];
            const float y = b[i * p.b_strides[0] + j * p.b_strides[1] + k * p.b_strides[2]];
            ASSERT_EQ(out[(i * 2 + j) * 21 + k], x - y) << r->isa << form;
          }
    }
}

TEST(Binary, NanWinsMaxAndMinAndPassesTheMask) {
  for (const Routines* r : AllRoutines()) {
    const float nan = NAN;
    const auto apply = [&](BinaryOp op, float a, float b) {
      float y = 0;
      BinaryArgs p;
      p.op = op, p.rank = 1, p.dims[0] = 1, p.a_strides[0] = p.b_strides[0] = 1, p.a = &a, p.b = &b, p.out = &y;
      r->f32.binary(p, {});
      return y;
    };
    for (const BinaryOp op : {BinaryOp::kMax, BinaryOp::kMin}) {
      EXPECT_TRUE(std::isnan(apply(op, nan, 1)));
      EXPECT_TRUE(std::isnan(apply(op, 1, nan)));
    }
    EXPECT_EQ(apply(BinaryOp::kReluGrad, 3, nan), 3.0f);
    EXPECT_EQ(apply(BinaryOp::kReluGrad, 3, 0), 0.0f);
  }
}

double ExactGradient(BinaryOp op, double dy, double x) {
  const double z = double{0.5f} * x, s = 1 / (1 + std::exp(-x)), sz = 1 / (1 + std::exp(-z)), line = z + 0.25;
  switch (op) {
    case BinaryOp::kEluGrad:
      return x > 0 ? dy : dy * 0.5 * std::exp(x);
    case BinaryOp::kHardSigmoidGrad:
      return line <= 0 || line >= 1 ? 0 : dy * 0.5;
    case BinaryOp::kHardSwishGrad:
      return x <= -3 ? 0 : x >= 3 ? dy : dy * (x / 3 + 0.5);
    case BinaryOp::kSoftplusGrad:
      return dy * s;
    case BinaryOp::kSwishGrad:
      return dy * sz * (1 + z * (1 - sz));
    case BinaryOp::kErfGrad:
      return dy * 1.1283791670955126 * std::exp(-x * x);
    case BinaryOp::kAbsGrad:
      return x > 0 ? dy : x < 0 ? -dy : 0;
    default:
      return NAN;
  }
}

TEST(Binary, GradientsOfActivationsAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (const BinaryOp op : {BinaryOp::kEluGrad, BinaryOp::kHardSigmoidGrad, BinaryOp::kHardSwishGrad,
                              BinaryOp::kSoftplusGrad, BinaryOp::kSwishGrad, BinaryOp::kErfGrad, BinaryOp::kAbsGrad})
      for (const float range : {1.0f, 8.0f, 60.0f}) {
        const auto dy = Random(1003, 1), x = Random(1003, 2, -range, range);
        Array<float> dx(1003);
        BinaryArgs p;
        p.op = op, p.alpha = 0.5f, p.beta = 0.25f, p.rank = 1, p.dims[0] = 1003, p.a_strides[0] = p.b_strides[0] = 1;
        p.a = dy.get(), p.b = x.get(), p.out = dx.get();
        r->f32.binary(p, Threads(2));
        for (int64_t i = 0; i < 1003; ++i) {
          // The two factors of the gradients with a zero lose the digits of the larger one.
          const double want = ExactGradient(op, dy[i], x[i]), loss = op == BinaryOp::kErfGrad ? 4e-6 : 1e-6;
          ASSERT_NEAR(dx[i], want, loss * std::abs(want) + 2e-7 * std::abs(dy[i]))
              << r->isa << " op " << static_cast<int>(op) << " at " << x[i];
        }
      }
}

TEST(MaskGradient, ZeroesAndSums) {
  for (const Routines* r : AllRoutines()) {
    const auto y = Random(7 * 37, 1), dy = Random(7 * 37, 2);
    Array<float> g(7 * 37), sums(37);
    MaskArgs m;
    m.rows = 7, m.columns = 37, m.y = y.get(), m.dy = dy.get(), m.g = g.get(), m.column_sums = sums.get();
    r->mask_gradient(m, Threads(2));
    for (int64_t c = 0; c < 37; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < 7; ++i) {
        const float want = y[i * 37 + c] <= 0 ? 0 : dy[i * 37 + c];
        ASSERT_EQ(g[i * 37 + c], want);
        sum += want;
      }
      ASSERT_NEAR(sums[c], sum, 1e-6);
    }
  }
}

double Reduced(ReduceOp op, const std::vector<double>& x) {
  double sum = 0, squares = 0, top = -INFINITY, least = INFINITY, powers = 0;
  for (const double v : x) {
    sum += v, squares += v * v, powers += std::exp(v);
    top = std::max(top, v), least = std::min(least, v);
  }
  switch (op) {
    case ReduceOp::kSum:
      return sum;
    case ReduceOp::kMean:
      return sum / static_cast<double>(x.size());
    case ReduceOp::kMax:
      return top;
    case ReduceOp::kMin:
      return least;
    case ReduceOp::kSumSquare:
      return squares;
    case ReduceOp::kL2:
      return std::sqrt(squares);
    case ReduceOp::kLogSumExp:
      return std::log(powers);
  }
  return 0;
}

constexpr ReduceOp kAllReduce[] = {ReduceOp::kSum,       ReduceOp::kMean, ReduceOp::kMax,      ReduceOp::kMin,
                                   ReduceOp::kSumSquare, ReduceOp::kL2,   ReduceOp::kLogSumExp};

TEST(Reduce, AllFormsAgreeWithDoublePrecision) {
  const int64_t sizes[][4] = {{1, 7, 19, 1},   {5, 1, 1, 43}, {3, 4, 18, 1}, {2, 3, 5, 9},
                              {1, 5000, 3, 1}, {37, 1, 1, 3}, {5, 1, 7, 4},  {33, 1, 1, 16}};
  for (const Routines* r : AllRoutines())
    for (const ReduceOp op : kAllReduce)
      for (const auto& [k0, r0, k1, r1] : sizes) {
        if (op == ReduceOp::kLogSumExp && r0 > 1 && r1 > 1) continue;
        const auto x = Random(k0 * r0 * k1 * r1, 1);
        Array<float> y(k0 * k1);
        r->f32.reduce({op, k0, r0, k1, r1, x.get(), y.get()}, Threads(2));
        for (int64_t a = 0; a < k0; ++a)
          for (int64_t b = 0; b < k1; ++b) {
            std::vector<double> terms;
            for (int64_t i = 0; i < r0; ++i)
              for (int64_t j = 0; j < r1; ++j) terms.push_back(x[((a * r0 + i) * k1 + b) * r1 + j]);
            const double want = Reduced(op, terms), slack = op == ReduceOp::kSum ? 1e-4 : 2e-6;
            ASSERT_NEAR(y[a * k1 + b], want, slack + 1e-6 * std::abs(want))
                << r->isa << " op " << static_cast<int>(op) << " r1 " << r1;
          }
      }
}

// The greatest and least are taken with NaN above both; logarithms of nothing but zeros, and with an infinity.
TEST(Reduce, SpecialValues) {
  const float inf = INFINITY;
  for (const Routines* r : AllRoutines())
    for (const bool run : {false, true}) {
      const auto of = [&](ReduceOp op, std::vector<float> x) {
        float y = 0;
        const auto n = static_cast<int64_t>(x.size());
        r->f32.reduce({op, 1, run ? 1 : n, 1, run ? n : 1, x.data(), &y}, {});
        return y;
      };
      for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
        EXPECT_TRUE(std::isnan(of(op, {1, NAN, 3}))) << r->isa;
        EXPECT_TRUE(std::isnan(of(op, std::vector<float>(40, NAN)))) << r->isa;
      }
      EXPECT_EQ(of(ReduceOp::kMin, {inf, inf}), inf) << r->isa;
      EXPECT_EQ(of(ReduceOp::kLogSumExp, {-inf, -inf}), -inf) << r->isa;
      EXPECT_EQ(of(ReduceOp::kLogSumExp, {inf, 1}), inf) << r->isa;
      EXPECT_NEAR(of(ReduceOp::kLogSumExp, {1000, 1000}), 1000 + std::log(2.0), 1e-4) << r->isa;
    }
}

// Bases and exponents of every kind, each with each: the C library's pow in double is the standard.
TEST(Power, AgreesWithDoublePrecision) {
  std::vector<float> numbers = {0.0f,  -0.0f,       1,          -1,          2,        -2,        3,      -3,    0.5f,
                                -0.5f, 1e-3f,       -1e-3f,     1.5f,        -1.5f,    7.25f,     1e-41f, 1e10f, -1e10f,
                                3e38f, 16777217.0f, 1.0000001f, 0.99999994f, INFINITY, -INFINITY, NAN};
  const auto more = Random(60, 3, -12, 12);
  for (int64_t i = 0; i < 60; ++i) numbers.push_back(more[i]);
  const auto n = static_cast<int64_t>(numbers.size());
  for (const Routines* r : AllRoutines())
    for (const bool rows : {false, true}) {  // the exponents as rows of one number, and lying side by side
      Array<float> z(n * n), dx(n * n), dy(n * n);
      const Array<float> dz(n * n, 2.0f);
      BinaryArgs p;
      p.rank = 2, p.dims[0] = p.dims[1] = n;
      p.a_strides[0] = rows ? 0 : 1, p.a_strides[1] = rows ? 1 : 0;
      p.b_strides[0] = rows ? 1 : 0, p.b_strides[1] = rows ? 0 : 1;
      p.a = p.b = numbers.data(), p.out = z.get();
      r->power(p, Threads(2));
      r->power_grad({p, dz.get(), dx.get(), dy.get()}, Threads(2));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const double x = numbers[static_cast<size_t>(rows ? j : i)], y = numbers[static_cast<size_t>(rows ? i : j)];
          const auto near = [&](float got, double want, double share) {
            const auto rounded = static_cast<float>(want);
            const bool same = std::isnan(want) ? std::isnan(got) : !std::isfinite(rounded) ? got == rounded : false;
            return same || std::abs(got - want) <= share * std::abs(want) + 1e-44;
          };
          ASSERT_TRUE(near(z[i * n + j], std::pow(x, y), 3e-7))
              << r->isa << ' ' << x << '^' << y << ' ' << z[i * n + j];
          ASSERT_TRUE(std::isnan(z[i * n + j]) || std::signbit(z[i * n + j]) == std::signbit(std::pow(x, y)))
              << r->isa << ' ' << x << '^' << y;
          if (!std::isfinite(x) || !std::isfinite(y) || std::abs(y) > 1e6 || std::abs(x) < 1e-38) continue;
          const double power = std::pow(x, y), slope = y == 0 ? 0 : y * std::pow(x, y - 1);
          const double less_one = 1e-6 + 1.2e-7 * std::abs(std::log(std::abs(x)));  // y - 1 is rounded
          if (std::abs(slope) < 1e37 && std::abs(slope) > 1e-36) {
            ASSERT_TRUE(near(dx[i * n + j], 2 * slope, less_one))
                << r->isa << ' ' << x << '^' << y << ' ' << dx[i * n + j];
          }
          if (std::abs(power) < 1e35 && std::abs(power) > 1e-35) {
            ASSERT_TRUE(near(dy[i * n + j], 2 * power * std::log(x), 1e-6)) << r->isa << ' ' << x << '^' << y;
          }
        }
    }
}

TEST(Transpose, EveryElementFindsItsPlace) {
  for (const Routines* r : AllRoutines())
    for (const int64_t rows : {1, 3, 16, 33, 100})
      for (const int64_t columns : {1, 6, 8, 49}) {
        const auto x = Random(2 * rows * columns, 1);
        Array<float> y(2 * rows * columns);
        r->transpose({2, rows, columns, x.get(), y.get()}, Threads(2));
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
              ASSERT_EQ(y[(b * columns + j) * rows + i], x[(b * rows + i) * columns + j]) << r->isa;
      }
}

// No input but NaN gives NaN, at any size; 0.01 apart all the way, where a step of the argument reduction could hide one.
TEST(Unary, FiniteStaysFinite) {
  constexpr int64_t kCount = 25001;
  Array<float> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i - kCount / 2) * 0.01f;
  for (const Routines* r : AllRoutines())
    for (const UnaryOp op : kAllUnary) {
      UnaryArgs a;
      a.op = op, a.count = kCount, a.alpha = 0.1f, a.x = x.get(), a.y = y.get();
      r->f32.unary(a, Threads(1));
      for (int64_t i = 0; i < kCount; ++i) {
        const double want = Exact(op, x[i]);
        ASSERT_EQ(std::isnan(want), std::isnan(y[i])) << r->isa << " op " << static_cast<int>(op) << " of " << x[i];
        if (std::abs(want) < 3e38) {
          ASSERT_EQ(std::isfinite(want), std::isfinite(y[i]))
              << r->isa << " op " << static_cast<int>(op) << " of " << x[i];
        }
      }
    }
}

TEST(AllFinite, FindsTheOneElement) {
  for (const Routines* r : AllRoutines())
    for (const float bad : {INFINITY, -INFINITY, NAN})
      for (const int64_t at : {0, 4095, 4096, 9998}) {
        auto x = Random(9999, 1, -1e38f, 1e38f);
        EXPECT_TRUE(r->all_finite({x.size(), x.get()})) << r->isa;
        x[at] = bad;
        EXPECT_FALSE(r->all_finite({x.size(), x.get()})) << r->isa << " at " << at;
        EXPECT_TRUE(r->all_finite({0, nullptr}));
      }
}

}  // namespace
}  // namespace tenon::cpu

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

TEST(Softmax, AgreesWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (int64_t columns : {1, 2, 7, 8, 10, 16, 33, 1000})
      for (bool log : {false, true}) {
        const int64_t rows = 5;
        const auto x = Random(rows * columns, 1, -30, 30), dy = Random(rows * columns, 2);
        Array<float> y(rows * columns), dx(rows * columns);
        r->softmax({rows, columns, x.get(), y.get(), log}, Threads(2));
        r->softmax_grad({rows, columns, y.get(), dy.get(), dx.get(), log}, Threads(2));
        for (int64_t i = 0; i < rows; ++i) {
          double top = -1e30, sum = 0, dot = 0, all = 0;
          for (int64_t c = 0; c < columns; ++c) top = std::max(top, double{x[i * columns + c]});
          for (int64_t c = 0; c < columns; ++c) sum += std::exp(x[i * columns + c] - top);
          for (int64_t c = 0; c < columns; ++c) {
            dot += std::exp(x[i * columns + c] - top) / sum * dy[i * columns + c];
            all += dy[i * columns + c];
          }
          for (int64_t c = 0; c < columns; ++c) {
            const double p = std::exp(x[i * columns + c] - top) / sum, d = dy[i * columns + c];
            const double want = log ? x[i * columns + c] - top - std::log(sum) : p;
            ASSERT_NEAR(y[i * columns + c], want, 1e-6 * (1 + std::abs(want))) << r->isa << " " << columns;
            ASSERT_NEAR(dx[i * columns + c], log ? d - p * all : p * (d - dot), 2e-6 * (1 + std::abs(p * all)))
                << r->isa;
          }
        }
      }
}

TEST(CrossEntropy, LossAndGradientAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (int64_t columns : {1, 3, 10, 17}) {
      const int64_t rows = 9;
      const auto x = Random(rows * columns, 1, -5, 5), factor = Random(rows, 2, 0.5f, 1.5f);
      Array<int64_t> labels(rows);
      for (int64_t i = 0; i < rows; ++i) labels[i] = i * 7 % columns;
      labels[4] = -100;
      Array<float> loss(rows), log_prob(rows * columns), d(rows * columns), d2(rows * columns);
      CrossEntropyArgs a;
      a.rows = rows, a.columns = columns, a.scores = x.get(), a.labels64 = labels.get(), a.use_ignore = true;
      a.ignore_index = -100, a.row_loss = loss.get(), a.log_prob = log_prob.get(), a.d_scores = d.get(),
      a.scale = 0.25f;
      a.row_scale = factor.get();
      r->cross_entropy(a, Threads(1));
      CrossEntropyGradArgs g;
      g.rows = rows, g.columns = columns, g.log_prob = log_prob.get(), g.labels64 = labels.get(), g.use_ignore = true;
      g.ignore_index = -100, g.scale = 0.25f, g.row_scale = factor.get(), g.d_scores = d2.get();
      r->cross_entropy_grad(g, Threads(1));
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c) sum += std::exp(double{x[i * columns + c]});
        const bool ignored = labels[i] == -100;
        const double want = ignored ? 0 : std::log(sum) - x[i * columns + labels[i]];
        ASSERT_NEAR(loss[i], want, 2e-6 * (1 + want)) << r->isa;
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_NEAR(log_prob[i * columns + c], x[i * columns + c] - std::log(sum), 4e-6);
          const double p = std::exp(double{x[i * columns + c]}) / sum - (c == labels[i] ? 1 : 0);
          const double grad = ignored ? 0 : p * 0.25 * factor[i];
          ASSERT_NEAR(d[i * columns + c], grad, 1e-6) << r->isa;
          ASSERT_NEAR(d2[i * columns + c], grad, 1e-6) << r->isa;
        }
      }
    }
}

TEST(Softmax, NanStays) {
  for (const Routines* r : AllRoutines()) {
    Array<float> x(10, 1.0f), y(10);
    x[3] = std::nanf("");
    r->softmax({1, 10, x.get(), y.get(), false}, {});
    EXPECT_TRUE(std::isnan(y[0])) << r->isa;
    r->softmax({1, 10, x.get(), y.get(), true}, {});
    EXPECT_TRUE(std::isnan(y[0])) << r->isa;
  }
}

}  // namespace
}  // namespace tenon::cpu

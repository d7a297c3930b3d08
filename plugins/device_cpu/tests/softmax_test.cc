#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

// Along the last axis, and along one with others behind it.
TEST(Softmax, AgreesWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (int64_t columns : {1, 2, 7, 8, 10, 16, 33, 1000})
      for (int64_t inner : {1, 3, 21})
        for (bool log : {false, true}) {
          const int64_t rows = 5;
          const auto x = Random(rows * columns * inner, 1, -30, 30), dy = Random(x.size(), 2);
          Array<float> y(x.size()), dx(x.size());
          r->softmax({rows, columns, inner, x.get(), y.get(), log}, Threads(2));
          r->softmax_grad({rows, columns, inner, y.get(), dy.get(), dx.get(), log}, Threads(2));
          for (int64_t i = 0; i < rows * inner; ++i) {
            const auto at = [&](int64_t c) { return (i / inner * columns + c) * inner + i % inner; };
            double top = -1e30, sum = 0, dot = 0, all = 0;
            for (int64_t c = 0; c < columns; ++c) top = std::max(top, double{x[at(c)]});
            for (int64_t c = 0; c < columns; ++c) sum += std::exp(x[at(c)] - top);
            for (int64_t c = 0; c < columns; ++c) {
              dot += std::exp(x[at(c)] - top) / sum * dy[at(c)];
              all += dy[at(c)];
            }
            for (int64_t c = 0; c < columns; ++c) {
              const double p = std::exp(x[at(c)] - top) / sum, d = dy[at(c)];
              const double want = log ? x[at(c)] - top - std::log(sum) : p;
              ASSERT_NEAR(y[at(c)], want, 1e-6 * (1 + std::abs(want))) << r->isa << " " << columns;
              ASSERT_NEAR(dx[at(c)], log ? d - p * all : p * (d - dot), 2e-6 * (1 + std::abs(p * all))) << r->isa;
            }
          }
        }
}

// Scores as rows, and with positions as neighbours.
TEST(CrossEntropy, LossAndGradientAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (int64_t classes : {1, 3, 10, 17})
      for (int64_t area : {1, 5, 23})
        for (bool weighted : {false, true})
          for (float smoothing : {0.0f, 0.2f}) {
            const int64_t images = 9, positions = images * area;
            const auto x = Random(positions * classes, 1, -5, 5), factor = Random(positions, 2, 0.5f, 1.5f);
            const auto weights = Random(classes, 3, 0.5f, 2.0f);
            Array<int64_t> labels(positions);
            for (int64_t i = 0; i < positions; ++i) labels[i] = i * 7 % classes;
            labels[4] = -1;
            Array<float> loss(positions), log_prob(x.size()), d(x.size());
            const ClassShares shares{weighted ? weights.get() : nullptr, smoothing};
            r->cross_entropy({images, classes, area, x.get(), labels.get(), shares, loss.get(), log_prob.get()},
                             Threads(2));
            r->cross_entropy_grad(
                {images, classes, area, log_prob.get(), labels.get(), shares, 0.25f, factor.get(), d.get()},
                Threads(2));
            for (int64_t i = 0; i < positions; ++i) {
              const auto at = [&](int64_t c) { return (i / area * classes + c) * area + i % area; };
              const auto share = [&](int64_t c) {
                const double hot = c == labels[i] ? 1 - double{smoothing} : 0;
                return (weighted ? double{weights[c]} : 1.0) * (hot + smoothing / static_cast<double>(classes));
              };
              double sum = 0, whole = 0, want = 0;
              for (int64_t c = 0; c < classes; ++c) sum += std::exp(double{x[at(c)]}), whole += share(c);
              for (int64_t c = 0; c < classes; ++c) want += share(c) * (std::log(sum) - x[at(c)]);
              const bool ignored = labels[i] < 0;
              ASSERT_NEAR(loss[i], ignored ? 0 : want, 4e-6 * (1 + want)) << r->isa;
              for (int64_t c = 0; c < classes; ++c) {
                ASSERT_NEAR(log_prob[at(c)], x[at(c)] - std::log(sum), 4e-6) << r->isa;
                const double slope = std::exp(double{x[at(c)]}) / sum * whole - share(c);
                ASSERT_NEAR(d[at(c)], ignored ? 0 : slope * 0.25 * factor[i], 2e-6) << r->isa;
              }
            }
          }
}

TEST(Softmax, NanStays) {
  for (const Routines* r : AllRoutines()) {
    Array<float> x(10, 1.0f), y(10);
    x[3] = std::nanf("");
    r->softmax({1, 10, 1, x.get(), y.get(), false}, {});
    EXPECT_TRUE(std::isnan(y[0])) << r->isa;
    r->softmax({1, 10, 1, x.get(), y.get(), true}, {});
    EXPECT_TRUE(std::isnan(y[0])) << r->isa;
  }
}

}  // namespace
}  // namespace tenon::cpu

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

TEST(BatchNorm, StatisticsValuesAndGradientsAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (const BatchNormShape s :
         {BatchNormShape{30, 5, 1}, BatchNormShape{64, 33, 1}, BatchNormShape{3, 4, 49}, BatchNormShape{2, 3, 8}})
      for (const bool training : {true, false}) {
        const int64_t count = s.outer * s.channels * s.inner, m = s.outer * s.inner;
        const auto x = Random(count, 1, 5, 7), dy = Random(count, 2), scale = Random(s.channels, 3, 0.5f, 2),
                   bias = Random(s.channels, 4);
        Array<float> mean(s.channels, 6.1f), var(s.channels, 0.4f), inv_std(s.channels), y(count), dx(count),
            d_scale(s.channels), d_bias(s.channels);
        if (training) r->batch_norm_stats({s, x.get(), mean.get(), var.get()}, Threads(2));
        for (int64_t c = 0; c < s.channels; ++c) inv_std[c] = 1 / std::sqrt(var[c] + 1e-5f);
        r->batch_norm_apply({s, x.get(), mean.get(), inv_std.get(), scale.get(), bias.get(), false, y.get()},
                            Threads(2));
        r->batch_norm_grad({s, x.get(), dy.get(), mean.get(), inv_std.get(), scale.get(), training, dx.get(),
                            d_scale.get(), d_bias.get()},
                           Threads(2));
        for (int64_t c = 0; c < s.channels; ++c) {
          const auto at = [&](int64_t i) { return (i / s.inner * s.channels + c) * s.inner + i % s.inner; };
          double mu = mean[c], v = var[c], db = 0, ds = 0;
          if (training) {
            mu = v = 0;
            for (int64_t i = 0; i < m; ++i) mu += x[at(i)] / static_cast<double>(m);
            for (int64_t i = 0; i < m; ++i) v += (x[at(i)] - mu) * (x[at(i)] - mu) / static_cast<double>(m);
            ASSERT_NEAR(mean[c], mu, 1e-5) << r->isa;
            ASSERT_NEAR(var[c], v, 1e-5) << r->isa;
          }
          const double root = 1 / std::sqrt(v + 1e-5);
          for (int64_t i = 0; i < m; ++i) {
            const double h = (x[at(i)] - mu) * root;
            ASSERT_NEAR(y[at(i)], h * scale[c] + bias[c], 1e-4) << r->isa;
            db += dy[at(i)];
            ds += dy[at(i)] * h;
          }
          ASSERT_NEAR(d_bias[c], db, 1e-4) << r->isa;
          ASSERT_NEAR(d_scale[c], ds, 1e-4) << r->isa;
          for (int64_t i = 0; i < m; ++i) {
            const double h = (x[at(i)] - mu) * root, d = static_cast<double>(m);
            const double want = scale[c] * root * (training ? dy[at(i)] - db / d - h * ds / d : dy[at(i)]);
            ASSERT_NEAR(dx[at(i)], want, 1e-4) << r->isa;
          }
        }
      }
}

}  // namespace
}  // namespace tenon::cpu

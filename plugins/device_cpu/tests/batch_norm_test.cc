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
        if (training) r->f32.batch_norm_stats({s, x.get(), mean.get(), var.get()}, Threads(2));
        for (int64_t c = 0; c < s.channels; ++c) inv_std[c] = 1 / std::sqrt(var[c] + 1e-5f);
        BatchNormApplyArgs apply;
        apply.shape = s, apply.x = x.get(), apply.mean = mean.get(), apply.inv_std = inv_std.get();
        apply.scale = scale.get(), apply.bias = bias.get(), apply.y = y.get();
        r->f32.batch_norm_apply(apply, Threads(2));
        BatchNormGradArgs grad;
        grad.shape = s, grad.x = x.get(), grad.dy = dy.get(), grad.mean = mean.get(), grad.inv_std = inv_std.get();
        grad.scale = scale.get(), grad.training = training;
        grad.dx = dx.get(), grad.d_scale = d_scale.get(), grad.d_bias = d_bias.get();
        r->f32.batch_norm_grad(grad, Threads(2));
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

// With limits and a residual: values, and gradients of what passes.
TEST(BatchNorm, FusedLimitsAndResidualAgreeWithSeparateSteps) {
  for (const Routines* r : AllRoutines())
    for (const BatchNormShape s : {BatchNormShape{30, 5, 1}, BatchNormShape{64, 80, 1}, BatchNormShape{3, 4, 49}})
      for (const BatchNormMask mask :
           {BatchNormMask::kAboveZero, BatchNormMask::kInside, BatchNormMask::kOutputAboveZero}) {
        const int64_t count = s.outer * s.channels * s.inner;
        const auto x = Random(count, 1, -2, 2), dy = Random(count, 2), z = Random(count, 3),
                   scale = Random(s.channels, 4, 0.5f, 2), bias = Random(s.channels, 5), mean = Random(s.channels, 6);
        const Array<float> inv_std(s.channels, 0.8f);
        const bool add = mask == BatchNormMask::kOutputAboveZero;
        const BatchNormLimits limits{true, mask == BatchNormMask::kInside ? -0.5f : 0.0f,
                                     mask == BatchNormMask::kInside ? 0.75f : INFINITY};
        Array<float> plain(count), y(count), g(count), want_dx(count), dx(count), dz(count);
        Array<float> want_scale(s.channels), want_bias(s.channels), d_scale(s.channels), d_bias(s.channels);
        BatchNormApplyArgs apply;
        apply.shape = s, apply.x = x.get(), apply.mean = mean.get(), apply.inv_std = inv_std.get();
        apply.scale = scale.get(), apply.bias = bias.get(), apply.y = plain.get();
        r->f32.batch_norm_apply(apply, Threads(2));
        apply.residual = add ? z.get() : nullptr, apply.limits = limits, apply.y = y.get();
        r->f32.batch_norm_apply(apply, Threads(2));
        for (int64_t i = 0; i < count; ++i) {
          const float before = plain[i] + (add ? z[i] : 0.0f);
          ASSERT_EQ(y[i], std::min(std::max(before, limits.low), limits.high)) << r->isa << " " << i;
          const bool passes =
              mask == BatchNormMask::kInside ? before >= limits.low && before <= limits.high : before > 0;
          g[i] = passes ? dy[i] : 0.0f;
        }
        BatchNormGradArgs grad;
        grad.shape = s, grad.x = x.get(), grad.dy = g.get(), grad.mean = mean.get(), grad.inv_std = inv_std.get();
        grad.scale = scale.get(), grad.dx = want_dx.get(), grad.d_scale = want_scale.get(),
        grad.d_bias = want_bias.get();
        r->f32.batch_norm_grad(grad, Threads(2));
        grad.dy = dy.get(), grad.dx = dx.get(), grad.d_scale = d_scale.get(), grad.d_bias = d_bias.get();
        grad.bias = bias.get(), grad.y = y.get(), grad.mask = mask, grad.limits = limits, grad.d_residual = dz.get();
        r->f32.batch_norm_grad(grad, Threads(2));
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(dx[i], want_dx[i]) << r->isa;
          ASSERT_EQ(dz[i], g[i]) << r->isa;
        }
        for (int64_t c = 0; c < s.channels; ++c) {
          ASSERT_EQ(d_scale[c], want_scale[c]) << r->isa;
          ASSERT_EQ(d_bias[c], want_bias[c]) << r->isa;
        }
      }
}

}  // namespace
}  // namespace tenon::cpu

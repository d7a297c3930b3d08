// Layer normalisation, Gelu, gathered rows and dropout against double precision.
#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

TEST(LayerNorm, ForwardAndGradientAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (int64_t columns : {1, 3, 16, 37, 256})
      for (bool with_addend : {false, true}) {
        const int64_t rows = 131;
        const auto x = Random(rows * columns, 1, -2, 3), more = Random(rows * columns, 2),
                   dy = Random(rows * columns, 3);
        const auto scale = Random(columns, 4, 0.5f, 1.5f), bias = Random(columns, 5);
        Array<float> y(x.size()), sum(x.size()), mean(rows), inv_std(rows), dx(x.size()), d_scale(columns),
            d_bias(columns);
        LayerNormArgs a;
        a.rows = rows, a.columns = columns, a.x = x.get(), a.scale = scale.get(), a.bias = bias.get();
        a.y = y.get(), a.mean = mean.get(), a.inv_std = inv_std.get();
        if (with_addend) a.addend = more.get(), a.sum = sum.get();
        r->f32.layer_norm(a, Threads(2));
        LayerNormGradArgs g;
        g.rows = rows, g.columns = columns, g.dy = dy.get(), g.x = with_addend ? sum.get() : x.get();
        g.scale = scale.get(), g.mean = mean.get(), g.inv_std = inv_std.get();
        g.addend = with_addend ? more.get() : nullptr;
        g.dx = dx.get(), g.d_scale = d_scale.get(), g.d_bias = d_bias.get();
        Workspace space(r->f32.layer_norm_grad_workspace(g));
        r->f32.layer_norm_grad(g, space.get(), Threads(2));
        std::vector<double> want_scale(static_cast<size_t>(columns)), want_bias(want_scale.size());
        const auto n = static_cast<double>(columns);
        for (int64_t i = 0; i < rows; ++i) {
          std::vector<double> v;
          double m = 0, squares = 0, g_sum = 0, g_dot = 0;
          for (int64_t c = 0; c < columns; ++c)
            v.push_back(double{x[i * columns + c]} + (with_addend ? more[i * columns + c] : 0.0f));
          for (const double e : v) m += e / n;
          for (const double e : v) squares += (e - m) * (e - m) / n;
          const double inv = 1 / std::sqrt(squares + 1e-5);
          const auto hat = [&](int64_t c) { return (v[static_cast<size_t>(c)] - m) * inv; };
          for (int64_t c = 0; c < columns; ++c) {
            const double d = dy[i * columns + c];
            g_sum += d * scale[c];
            g_dot += d * scale[c] * hat(c);
            want_scale[static_cast<size_t>(c)] += d * hat(c);
            want_bias[static_cast<size_t>(c)] += d;
          }
          ASSERT_NEAR(inv_std[i], inv, 2e-5 * inv) << r->isa << " " << columns;
          for (int64_t c = 0; c < columns; ++c) {
            ASSERT_NEAR(y[i * columns + c], hat(c) * scale[c] + bias[c], 1e-5 * (1 + inv)) << r->isa << " " << columns;
            const double own = inv * (dy[i * columns + c] * double{scale[c]} - (g_sum + hat(c) * g_dot) / n);
            const double want = own + (with_addend ? more[i * columns + c] : 0.0f);
            ASSERT_NEAR(dx[i * columns + c], want, 2e-5 * (1 + inv)) << r->isa << " " << columns;
          }
        }
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_NEAR(d_scale[c], want_scale[static_cast<size_t>(c)], 1e-4) << r->isa << " " << columns;
          ASSERT_NEAR(d_bias[c], want_bias[static_cast<size_t>(c)], 1e-4) << r->isa << " " << columns;
        }
      }
}

double GeluOf(double x, bool approximate) {
  if (!approximate) return x / 2 * std::erfc(-x / std::sqrt(2.0));
  // x (1 + tanh(u)) / 2, in a form that keeps its digits where tanh is near -1.
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double GeluSlope(double x, bool approximate) {
  const double h = 1e-5;
  if (approximate) return (GeluOf(x + h, true) - GeluOf(x - h, true)) / (2 * h);
  return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

TEST(Gelu, ForwardAndGradientAgreeWithDoublePrecision) {
  for (const Routines* r : AllRoutines())
    for (bool approximate : {false, true}) {
      const int64_t rows = 300, columns = 67;
      auto x = Random(rows * columns, 1, -12, 12);
      for (int64_t i = 0; i < 2000; ++i) x[i] = static_cast<float>(i - 1000) * 1e-3f;
      const auto dy = Random(rows * columns, 2);
      Array<float> y(x.size()), dx(x.size()), sums(columns);
      r->f32.gelu({x.size(), approximate, x.get(), y.get()}, Threads(2));
      GeluGradArgs g{rows, columns, approximate, x.get(), dy.get(), dx.get(), sums.get()};
      Workspace space(r->f32.gelu_grad_workspace(g));
      r->f32.gelu_grad(g, space.get(), Threads(2));
      std::vector<double> want(static_cast<size_t>(columns));
      for (int64_t i = 0; i < x.size(); ++i) {
        const double value = GeluOf(x[i], approximate), slope = GeluSlope(x[i], approximate);
        ASSERT_NEAR(y[i], value, 5e-7 * (1 + x[i] * double{x[i]}) * std::abs(value) + 1e-30) << r->isa << " " << x[i];
        ASSERT_NEAR(dx[i], dy[i] * slope, 1e-6) << r->isa << " " << x[i];
        want[static_cast<size_t>(i % columns)] += dx[i];
      }
      for (int64_t c = 0; c < columns; ++c) ASSERT_NEAR(sums[c], want[static_cast<size_t>(c)], 1e-4) << r->isa;
    }
}

TEST(Gelu, NanStays) {
  for (const Routines* r : AllRoutines())
    for (bool approximate : {false, true}) {
      float x = std::nanf(""), y = 0;
      r->f32.gelu({1, approximate, &x, &y}, {});
      EXPECT_TRUE(std::isnan(y)) << r->isa;
    }
}

TEST(Gather, RowsAndTheirGradient) {
  for (const Routines* r : AllRoutines())
    for (int64_t width : {1, 8, 37}) {
      const int64_t rows = 11, count = 50;
      const auto table = Random(rows * width, 1), dy = Random(count * width, 2);
      Array<int64_t> index(count);
      for (int64_t i = 0; i < count; ++i) index[i] = i * i % rows;
      Array<float> y(count * width), d_table(rows * width, 5.0f);
      r->gather({count, rows, width, index.get(), table.get(), y.get()}, Threads(2));
      r->gather_grad({count, rows, width, index.get(), dy.get(), d_table.get()}, Threads(2));
      std::vector<double> want(static_cast<size_t>(rows * width));
      for (int64_t i = 0; i < count; ++i)
        for (int64_t c = 0; c < width; ++c) {
          ASSERT_EQ(y[i * width + c], table[index[i] * width + c]) << r->isa;
          want[static_cast<size_t>(index[i] * width + c)] += dy[i * width + c];
        }
      for (int64_t i = 0; i < rows * width; ++i) ASSERT_NEAR(d_table[i], want[static_cast<size_t>(i)], 1e-5) << r->isa;
    }
}

// Words of Philox4x32-10 for key {0, 0} and counters {0, 0, 0, 0} and {1, 0, 0, 0}: the first are the known answer of the
// authors' own test (Random123, kat_vectors); the rest follow the same rounds in plain integers here.
std::vector<uint32_t> PlainWords(uint64_t key, uint64_t offset, uint64_t block) {
  uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(offset),
                   static_cast<uint32_t>(offset >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {c[0], c[1], c[2], c[3]};
}

TEST(Dropout, DrawsTheWordsOfPhilox) {
  EXPECT_EQ(PlainWords(0, 0, 0), (std::vector<uint32_t>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  for (const Routines* r : AllRoutines())
    for (int64_t count : {1, 5, 64, 1003}) {
      const auto x = Random(count, 1, 1, 2), dy = Random(count, 2);
      Array<float> y(count), dx(count);
      Array<uint8_t> kept(count);
      const uint64_t key = 0x123456789abcdefu, offset = 0x9876543210u;
      r->dropout({count, 0.25, key, offset, x.get(), y.get(), kept.get()}, Threads(2));
      r->dropout_grad({count, 4.0f / 3, kept.get(), dy.get(), dx.get()}, Threads(2));
      for (int64_t i = 0; i < count; ++i) {
        const bool keep = PlainWords(key, offset, static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)] >= 1u << 30;
        ASSERT_EQ(kept[i] != 0, keep) << r->isa << " " << i;
        ASSERT_NEAR(y[i], keep ? x[i] * (4.0 / 3) : 0.0, 1e-6) << r->isa;
        ASSERT_NEAR(dx[i], keep ? dy[i] * (4.0 / 3) : 0.0, 1e-6) << r->isa;
      }
    }
}

}  // namespace
}  // namespace tenon::cpu

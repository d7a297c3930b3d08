#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

PoolShape Shape(int64_t c, int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  PoolShape s;
  s.n = 2, s.c = c, s.h = size, s.w = size + 1;
  s.kernel_h = s.kernel_w = kernel, s.stride_h = s.stride_w = stride, s.dilation_h = s.dilation_w = dilation;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  s.out_h = (s.h + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  s.out_w = (s.w + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  return s;
}

const PoolShape kShapes[] = {Shape(3, 8, 2, 2, 0, 1),  Shape(17, 7, 3, 2, 1, 1), Shape(8, 6, 3, 1, 1, 1),
                             Shape(33, 9, 2, 3, 0, 1), Shape(5, 9, 3, 2, 2, 2),  Shape(1, 5, 5, 1, 0, 1),
                             Shape(3, 41, 2, 2, 0, 1)};

Strides4 In(const PoolShape& s, bool last) { return last ? NhwcStrides(s.c, s.h, s.w) : NchwStrides(s.c, s.h, s.w); }
Strides4 Out(const PoolShape& s, bool last) {
  return last ? NhwcStrides(s.c, s.out_h, s.out_w) : NchwStrides(s.c, s.out_h, s.out_w);
}

// Calls f(n, c, oh, ow).
template <class F>
void ForOutputs(const PoolShape& s, const F& f) {
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t oh = 0; oh < s.out_h; ++oh)
        for (int64_t ow = 0; ow < s.out_w; ++ow) f(n, c, oh, ow);
}

TEST(MaxPool, ValuesWinnersAndGradient) {
  for (const Routines* r : AllRoutines())
    for (const PoolShape& s : kShapes)
      for (const bool last_x : {false, true})
        for (const bool last_y : {false, true}) {
          const int64_t in = s.n * s.c * s.h * s.w, out = s.n * s.c * s.out_h * s.out_w;
          auto x = Random(in, 1);
          for (int64_t i = 0; i < in; i += 3) x[i] = 0.5f;  // ties
          const auto dy = Random(out, 2);
          Array<float> y(out), dx(in, 9.0f);
          Array<uint8_t> winners(out);
          MaxPoolArgs a;
          a.shape = s, a.x = x.get(), a.x_strides = In(s, last_x), a.y = y.get(), a.y_strides = Out(s, last_y);
          a.winners = winners.get();
          r->max_pool(a, Threads(2));
          MaxPoolGradArgs g;
          g.shape = s, g.dy = dy.get(), g.dy_strides = a.y_strides, g.winners = winners.get(), g.dx = dx.get();
          g.dx_strides = a.x_strides;
          r->max_pool_grad(g, Threads(2));
          std::vector<double> want(static_cast<size_t>(in));
          ForOutputs(s, [&](int64_t n, int64_t c, int64_t oh, int64_t ow) {
            float best = -INFINITY;
            int64_t at = -1, winner = 255;
            for (int64_t i = 0; i < s.kernel_h; ++i)
              for (int64_t j = 0; j < s.kernel_w; ++j) {
                const int64_t h = oh * s.stride_h - s.pad_top + i * s.dilation_h,
                              w = ow * s.stride_w - s.pad_left + j * s.dilation_w;
                if (h < 0 || w < 0 || h >= s.h || w >= s.w) continue;
                const int64_t p = n * a.x_strides.n + c * a.x_strides.c + h * a.x_strides.h + w * a.x_strides.w;
                if (at < 0 || x[p] > best) best = x[p], at = p, winner = i * s.kernel_w + j;
              }
            const int64_t o = n * a.y_strides.n + c * a.y_strides.c + oh * a.y_strides.h + ow * a.y_strides.w;
            ASSERT_EQ(y[o], best) << r->isa;
            ASSERT_EQ(winners[o], winner) << r->isa;
            if (at >= 0) want[static_cast<size_t>(at)] += dy[o];
          });
          for (int64_t i = 0; i < in; ++i) ASSERT_NEAR(dx[i], want[static_cast<size_t>(i)], 1e-5) << r->isa;
        }
}

TEST(AveragePool, ValuesAndGradient) {
  for (const Routines* r : AllRoutines())
    for (PoolShape s : kShapes)
      for (const bool last : {false, true})
        for (const bool count_padding : {false, true}) {
          s.count_padding = count_padding;
          const int64_t in = s.n * s.c * s.h * s.w, out = s.n * s.c * s.out_h * s.out_w;
          const auto x = Random(in, 1), dy = Random(out, 2);
          Array<float> y(out), dx(in, 9.0f);
          const Strides4 xs = In(s, last), ys = Out(s, last);
          r->average_pool({s, x.get(), xs, y.get(), ys}, Threads(2));
          r->average_pool_grad({s, dy.get(), ys, dx.get(), xs}, Threads(2));
          std::vector<double> want(static_cast<size_t>(in));
          ForOutputs(s, [&](int64_t n, int64_t c, int64_t oh, int64_t ow) {
            double sum = 0;
            std::vector<int64_t> covered;
            for (int64_t i = 0; i < s.kernel_h; ++i)
              for (int64_t j = 0; j < s.kernel_w; ++j) {
                const int64_t h = oh * s.stride_h - s.pad_top + i * s.dilation_h,
                              w = ow * s.stride_w - s.pad_left + j * s.dilation_w;
                if (h < 0 || w < 0 || h >= s.h || w >= s.w) continue;
                covered.push_back(n * xs.n + c * xs.c + h * xs.h + w * xs.w);
                sum += x[covered.back()];
              }
            const int64_t o = n * ys.n + c * ys.c + oh * ys.h + ow * ys.w;
            const double count =
                count_padding ? static_cast<double>(s.kernel_h * s.kernel_w) : static_cast<double>(covered.size());
            ASSERT_NEAR(y[o], covered.empty() ? 0 : sum / count, 1e-6) << r->isa;
            for (const int64_t p : covered) want[static_cast<size_t>(p)] += dy[o] / count;
          });
          for (int64_t i = 0; i < in; ++i) ASSERT_NEAR(dx[i], want[static_cast<size_t>(i)], 1e-5) << r->isa;
        }
}

TEST(MaxPool, NanWins) {
  for (const Routines* r : AllRoutines())
    for (const bool last : {false, true}) {
      PoolShape s = Shape(1, 2, 2, 2, 0, 1);
      s.w = 2, s.out_w = 1, s.n = 1;
      Array<float> x(4, 1.0f), y(1);
      Array<uint8_t> winner(1);
      x[2] = x[3] = NAN;
      r->max_pool({s, x.get(), In(s, last), y.get(), Out(s, last), winner.get()}, {});
      EXPECT_TRUE(std::isnan(y[0])) << r->isa;
      EXPECT_EQ(winner[0], 2) << r->isa;
    }
}

}  // namespace
}  // namespace tenon::cpu

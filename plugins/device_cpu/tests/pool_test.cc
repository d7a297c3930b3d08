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

// Of another third axis, from `shape`: volumes.
PoolShape Deep(PoolShape s, int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  s.d = size, s.kernel_d = kernel, s.stride_d = stride, s.dilation_d = dilation, s.pad_front = s.pad_back = pad;
  s.out_d = (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  return s;
}
// Lines: images of one row.
PoolShape Line(int64_t c, int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  PoolShape s = Shape(c, size, kernel, stride, pad, dilation);
  s.h = s.out_h = s.kernel_h = s.stride_h = s.dilation_h = 1, s.pad_top = s.pad_bottom = 0;
  return s;
}

const PoolShape kShapes[] = {Shape(3, 8, 2, 2, 0, 1),  Shape(17, 7, 3, 2, 1, 1), Shape(8, 6, 3, 1, 1, 1),
                             Shape(33, 9, 2, 3, 0, 1), Shape(5, 9, 3, 2, 2, 2),  Shape(1, 5, 5, 1, 0, 1),
                             Shape(3, 41, 2, 2, 0, 1), Shape(2, 40, 3, 2, 1, 1), Line(3, 77, 2, 2, 0, 1),
                             Line(2, 90, 4, 4, 0, 1),  Line(1, 70, 3, 1, 1, 1),  Line(2, 70, 5, 3, 2, 2),
                             Line(3, 40, 41, 1, 0, 1), Line(2, 60, 25, 20, 0, 1)};
const PoolShape kVolumes[] = {
    Deep(Shape(2, 8, 2, 2, 0, 1), 6, 2, 2, 0, 1), Deep(Shape(2, 36, 3, 2, 1, 1), 5, 3, 2, 1, 1),
    Deep(Shape(3, 7, 3, 1, 1, 1), 4, 3, 1, 1, 1), Deep(Shape(1, 9, 2, 3, 0, 1), 5, 3, 2, 2, 2)};

// All shapes, and whether images are channel-last, which volumes never are.
struct Case {
  PoolShape shape;
  bool last;
};
std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const PoolShape& s : kShapes)
    for (const bool last : {false, true}) all.push_back({s, last});
  for (const PoolShape& s : kVolumes) all.push_back({s, false});
  return all;
}

Strides4 In(const PoolShape& s, bool last) {
  return last ? NhwcStrides(s.c, s.h, s.w) : Strides4{s.c * s.d * s.h * s.w, s.d * s.h * s.w, s.w, 1};
}
Strides4 Out(const PoolShape& s, bool last) {
  if (last) return NhwcStrides(s.c, s.out_h, s.out_w);
  return {s.c * s.out_d * s.out_h * s.out_w, s.out_d * s.out_h * s.out_w, s.out_w, 1};
}
int64_t Inputs(const PoolShape& s) { return s.n * s.c * s.d * s.h * s.w; }
int64_t Outputs(const PoolShape& s) { return s.n * s.c * s.out_d * s.out_h * s.out_w; }

// Calls f(o, window) for every output o, whose window is a list of (position, element of x).
using Window = std::vector<std::pair<int64_t, int64_t>>;
template <class F>
void ForOutputs(const PoolShape& s, bool last, const F& f) {
  const Strides4 xs = In(s, last), ys = Out(s, last);
  for (int64_t i = 0; i < Outputs(s); ++i) {
    const int64_t ow = i % s.out_w, oh = i / s.out_w % s.out_h, od = i / s.out_w / s.out_h % s.out_d,
                  c = i / s.out_w / s.out_h / s.out_d % s.c, n = i / s.out_w / s.out_h / s.out_d / s.c;
    Window window;
    for (int64_t p = 0; p < s.kernel_d * s.kernel_h * s.kernel_w; ++p) {
      const int64_t d = od * s.stride_d - s.pad_front + p / s.kernel_w / s.kernel_h * s.dilation_d,
                    h = oh * s.stride_h - s.pad_top + p / s.kernel_w % s.kernel_h * s.dilation_h,
                    w = ow * s.stride_w - s.pad_left + p % s.kernel_w * s.dilation_w;
      if (d < 0 || h < 0 || w < 0 || d >= s.d || h >= s.h || w >= s.w) continue;
      window.push_back({p, n * xs.n + c * xs.c + (d * s.h + h) * xs.h + w * xs.w});
    }
    f(n * ys.n + c * ys.c + (od * s.out_h + oh) * ys.h + ow * ys.w, window);
  }
}

TEST(MaxPool, ValuesWinnersAndGradient) {
  for (const Routines* r : AllRoutines())
    for (const auto& [s, last] : Cases()) {
      auto x = Random(Inputs(s), 1);
      for (int64_t i = 0; i < Inputs(s); i += 3) x[i] = 0.5f;  // ties
      const auto dy = Random(Outputs(s), 2);
      Array<float> y(Outputs(s)), dx(Inputs(s), 9.0f);
      Array<uint8_t> winners(Outputs(s));
      r->max_pool({s, x.get(), In(s, last), y.get(), Out(s, last), winners.get()}, Threads(2));
      r->max_pool_grad({s, dy.get(), Out(s, last), winners.get(), dx.get(), In(s, last)}, Threads(2));
      std::vector<double> want(static_cast<size_t>(Inputs(s)));
      ForOutputs(s, last, [&](int64_t o, const Window& window) {
        float best = -INFINITY;
        int64_t at = -1, winner = 255;
        for (const auto& [position, element] : window)
          if (at < 0 || x[element] > best) best = x[element], at = element, winner = position;
        ASSERT_EQ(y[o], best) << r->isa;
        ASSERT_EQ(winners[o], winner) << r->isa;
        if (at >= 0) want[static_cast<size_t>(at)] += dy[o];
      });
      for (int64_t i = 0; i < Inputs(s); ++i) ASSERT_NEAR(dx[i], want[static_cast<size_t>(i)], 1e-5) << r->isa;
    }
}

// What counts of a window with its padding: all of it here, where no shape rounds its outputs up.
TEST(AveragePool, ValuesAndGradient) {
  for (const Routines* r : AllRoutines())
    for (auto [s, last] : Cases())
      for (const bool count_padding : {false, true}) {
        s.count_padding = count_padding;
        const auto x = Random(Inputs(s), 1), dy = Random(Outputs(s), 2);
        Array<float> y(Outputs(s)), dx(Inputs(s), 9.0f);
        const Strides4 xs = In(s, last), ys = Out(s, last);
        r->average_pool({s, x.get(), xs, y.get(), ys}, Threads(2));
        r->average_pool_grad({s, dy.get(), ys, dx.get(), xs}, Threads(2));
        std::vector<double> want(static_cast<size_t>(Inputs(s)));
        const auto all = static_cast<double>(s.kernel_d * s.kernel_h * s.kernel_w);
        ForOutputs(s, last, [&](int64_t o, const Window& window) {
          double sum = 0;
          for (const auto& [position, element] : window) sum += x[element];
          const double count = count_padding ? all : static_cast<double>(window.size());
          ASSERT_NEAR(y[o], window.empty() ? 0 : sum / count, 1e-6) << r->isa;
          for (const auto& [position, element] : window) want[static_cast<size_t>(element)] += dy[o] / count;
        });
        for (int64_t i = 0; i < Inputs(s); ++i) ASSERT_NEAR(dx[i], want[static_cast<size_t>(i)], 1e-5) << r->isa;
      }
}

TEST(MaxPool, NanWins) {
  for (const Routines* r : AllRoutines())
    for (const bool last : {false, true}) {
      PoolShape s = Shape(1, 2, 2, 2, 0, 1);
      s.h = s.w = 2, s.out_w = 1, s.n = 1;
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

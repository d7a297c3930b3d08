// Winograd's convolution against plain sums in double precision: values and error, with every kind of border.
#include <type_traits>

#include "plugins/device_cpu/tests/support.h"
#include "plugins/device_cpu/tests/tile_multipliers.h"

namespace tenon::cpu {
namespace {

struct Places {
  const WinogradShape& s;
  // Element of weights, x and y.
  int64_t w(int64_t oc, int64_t c, int64_t k) const { return (oc * s.c + c) * 9 + k; }
  int64_t x(int64_t n, int64_t c, int64_t h, int64_t w) const { return ((n * s.h + h) * s.w + w) * s.c + c; }
  int64_t y(int64_t n, int64_t oc, int64_t h, int64_t w) const {
    return ((n * s.OutH() + h) * s.OutW() + w) * s.oc + oc;
  }
};

// f(index of x, of w, of y) for each product of the convolution.
template <class F>
void ForEachProduct(const WinogradShape& s, const F& f) {
  const Places at{s};
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t oh = 0; oh < s.OutH(); ++oh)
        for (int64_t ow = 0; ow < s.OutW(); ++ow)
          for (int64_t k = 0; k < 9; ++k) {
            const int64_t h = oh - s.pad_top + k / 3, w = ow - s.pad_left + k % 3;
            if (h < 0 || w < 0 || h >= s.h || w >= s.w) continue;
            for (int64_t c = 0; c < s.c; ++c) f(at.x(n, c, h, w), at.w(oc, c, k), at.y(n, oc, oh, ow));
          }
}

const WinogradShape kShapes[] = {
    {2, 16, 8, 8, 32, 1, 1, 1, 1},   {1, 32, 7, 9, 48, 1, 1, 1, 1},   {3, 16, 4, 5, 16, 0, 0, 0, 0},
    {1, 48, 3, 3, 16, 2, 2, 2, 2},   {2, 16, 6, 6, 64, 0, 1, 2, 1},   {1, 16, 1, 1, 16, 1, 1, 1, 1},
    {5, 64, 12, 12, 64, 1, 1, 1, 1}, {2, 112, 5, 6, 144, 1, 1, 1, 1}, {4, 16, 24, 24, 16, 1, 1, 1, 1},
    {1, 16, 6, 6, 272, 1, 1, 1, 1},
};

// Of bf16 both the operands of the products and the results may be rounded to 8 bits.
template <class T>
constexpr double kForwardError = std::is_same_v<T, float> ? 4e-7 : 5e-3;
template <class T>
constexpr double kSumError = std::is_same_v<T, float> ? 1e-6 : 5e-3;

// Errors of long sums grow with the root of their length.
double Growth(int64_t channels) { return std::sqrt(std::max(1.0, static_cast<double>(channels) / 144)); }

template <class T>
void ExpectClose(const Array<T>& numbers, const std::vector<double>& want, double relative, const char* what,
                 const std::string& on) {
  const Array<float> got = Floats(numbers);
  double largest = 0, squares = 0, error = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double w = want[static_cast<size_t>(i)], e = got[i] - w;
    largest = std::max(largest, std::abs(w));
    squares += w * w;
    error += e * e;
  }
  EXPECT_LE(std::sqrt(error), relative * std::sqrt(squares)) << what << " " << on;
  for (int64_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[static_cast<size_t>(i)], (std::is_same_v<T, float> ? 20 : 4) * relative * largest)
        << what << " " << i << " " << on;
}

// Tiles of 4x4 have factors up to 8: more is lost where they are added up, the more the more channels; `math: high` permits 1e-5.
template <class T>
void CheckAgainstDouble(int edge = 2) {
  const double forward_error = edge == 4 ? 3e-6 : kForwardError<T>, sum_error = edge == 4 ? 4e-6 : kSumError<T>;
  for (const auto& [r, unit] : EachOnEveryUnit()) {
    if (unit.multiplier != nullptr && std::is_same_v<T, float>) continue;
    for (const WinogradShape& s : kShapes)
      for (const bool masked : {false, true}) {
        const int64_t xs = s.n * s.c * s.h * s.w, ys = s.n * s.oc * s.OutH() * s.OutW(), ws = s.oc * s.c * 9;
        const auto xt = As<T>(Random(xs, 1)), wt = As<T>(Random(ws, 2)), bt = As<T>(Random(s.oc, 3)),
                   dyt = As<T>(Random(ys, 4)), yt = As<T>(Random(ys, 5));
        const auto x = Floats(xt), w = Floats(wt), bias = Floats(bt), dy = Floats(dyt), y = Floats(yt);
        const auto& routines = r->template of<T>();
        std::vector<double> want_y(static_cast<size_t>(ys)), want_dx(static_cast<size_t>(xs)),
            want_dw(static_cast<size_t>(ws)), want_db(static_cast<size_t>(s.oc));
        for (int64_t i = 0; i < ys; ++i) want_y[static_cast<size_t>(i)] = bias[i % s.oc];
        const auto g = [&](int64_t i) { return masked && y[i] <= 0 ? 0.0 : static_cast<double>(dy[i]); };
        for (int64_t i = 0; i < ys; ++i) want_db[static_cast<size_t>(i % s.oc)] += g(i);
        ForEachProduct(s, [&](int64_t ix, int64_t iw, int64_t iy) {
          want_y[static_cast<size_t>(iy)] += static_cast<double>(x[ix]) * w[iw];
          want_dx[static_cast<size_t>(ix)] += g(iy) * w[iw];
          want_dw[static_cast<size_t>(iw)] += g(iy) * x[ix];
        });
        Array<T> got_y(ys), got_dx(xs), got_dw(ws), got_db(s.oc);
        for (const bool relu : {false, true}) {
          WinogradForwardArgsOf<T> f;
          f.shape = s, f.edge = edge, f.x = xt.get(), f.weights = wt.get(), f.bias = bt.get(), f.y = got_y.get(),
          f.relu = relu, f.unit = unit.multiplier;
          Workspace space(routines.winograd_forward_workspace(f, 2));
          routines.winograd_forward(f, space.get(), Threads(2));
          if (relu)
            for (double& value : want_y) value = std::max(value, 0.0);
          ExpectClose(got_y, want_y, forward_error * Growth(s.c), "y", unit.name);
        }
        WinogradForwardArgsOf<T> d;
        d.shape = {s.n,           s.oc,           s.OutH(),         s.OutW(),       s.c,
                   2 - s.pad_top, 2 - s.pad_left, 2 - s.pad_bottom, 2 - s.pad_right};
        d.edge = edge, d.x = dyt.get(), d.mask = masked ? yt.get() : nullptr, d.weights = wt.get(), d.y = got_dx.get(),
        d.turned = true, d.unit = unit.multiplier;
        Workspace data_space(routines.winograd_forward_workspace(d, 1));
        routines.winograd_forward(d, data_space.get(), {});
        ExpectClose(got_dx, want_dx, forward_error * Growth(s.oc), "dx", unit.name);
        WinogradWeightsArgsOf<T> a;
        a.shape = s, a.edge = edge, a.x = xt.get(), a.dy = dyt.get(), a.mask = d.mask, a.dw = got_dw.get(),
        a.db = got_db.get(), a.unit = unit.multiplier;
        Workspace weights_space(routines.winograd_weights_workspace(a, 2));
        routines.winograd_weights(a, weights_space.get(), Threads(2));
        ExpectClose(got_dw, want_dw, sum_error, "dw", unit.name);
        ExpectClose(got_db, want_db, sum_error, "db", unit.name);
      }
  }
}

TEST(Winograd, AgreesWithDoublePrecision) { CheckAgainstDouble<float>(); }
TEST(Winograd, AgreesWithDoublePrecisionInTilesOf4x4) { CheckAgainstDouble<float>(4); }
TEST(Winograd, AgreesWithDoublePrecisionInBf16) { CheckAgainstDouble<Bf16>(); }

TEST(Winograd, TakesWeightsThatStayFloat) {
  const WinogradShape s{2, 32, 9, 10, 48, 1, 0, 1, 1};
  const auto x = As<Bf16>(Random(s.n * s.c * s.h * s.w, 1)), w = As<Bf16>(Random(s.oc * s.c * 9, 2)),
             dy = As<Bf16>(Random(s.n * s.oc * s.OutH() * s.OutW(), 3));
  const auto wide = Floats(w);
  for (const Routines* r : AllRoutines()) {
    WinogradForwardArgsOf<Bf16> forward, data;
    forward.shape = s, forward.x = x.get();
    data.shape = {s.n, s.oc, s.OutH(), s.OutW(), s.c, 2 - s.pad_top, 2 - s.pad_left, 2 - s.pad_bottom, 2 - s.pad_right};
    data.x = dy.get(), data.turned = true;
    for (WinogradForwardArgsOf<Bf16> a : {forward, data}) {
      Array<Bf16> narrow_y(a.turned ? x.size() : dy.size()), wide_y(narrow_y.size());
      Workspace space(r->bf16.winograd_forward_workspace(a, 1));
      a.weights = w.get(), a.y = narrow_y.get();
      r->bf16.winograd_forward(a, space.get(), {});
      a.weights = nullptr, a.wide_weights = wide.get(), a.y = wide_y.get();
      r->bf16.winograd_forward(a, space.get(), {});
      const auto want = Floats(narrow_y), got = Floats(wide_y);
      for (int64_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << i << " " << r->isa;
    }
    Array<Bf16> dw(w.size());
    Array<float> wide_dw(w.size());
    WinogradWeightsArgsOf<Bf16> a;
    a.shape = s, a.x = x.get(), a.dy = dy.get(), a.dw = dw.get();
    Workspace space(r->bf16.winograd_weights_workspace(a, 1));
    r->bf16.winograd_weights(a, space.get(), {});
    a.dw = nullptr, a.wide_dw = wide_dw.get();
    r->bf16.winograd_weights(a, space.get(), {});
    const auto want = Floats(dw), got = Floats(As<Bf16>(wide_dw));
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << i << " " << r->isa;
  }
}

std::vector<std::pair<const Routines*, int>> EachWithBothEdges() {
  std::vector<std::pair<const Routines*, int>> all;
  for (const Routines* r : AllRoutines())
    for (const int edge : {2, 4}) all.emplace_back(r, edge);
  return all;
}

TEST(Winograd, GivesTheSameBitsForAnyNumberOfThreads) {
  // More tiles than channels, and fewer.
  const WinogradShape shapes[] = {{16, 64, 12, 12, 64, 1, 1, 1, 1}, {2, 112, 7, 8, 176, 1, 1, 1, 1}};
  for (const auto& [r, edge] : EachWithBothEdges())
    for (const WinogradShape& s : shapes) {
      const auto x = Random(s.n * s.c * s.h * s.w, 1), w = Random(s.oc * s.c * 9, 2),
                 dy = Random(s.n * s.oc * s.h * s.w, 3);
      std::vector<Array<float>> y, dw;
      for (const int64_t threads : {1, 3}) {
        y.emplace_back(dy.size());
        dw.emplace_back(w.size());
        WinogradForwardArgs f;
        f.shape = s, f.edge = edge, f.x = x.get(), f.weights = w.get(), f.y = y.back().get();
        Workspace space(r->f32.winograd_forward_workspace(f, threads));
        r->f32.winograd_forward(f, space.get(), Threads(threads));
        WinogradWeightsArgs a;
        a.shape = s, a.edge = edge, a.x = x.get(), a.dy = dy.get(), a.dw = dw.back().get();
        Workspace weights_space(r->f32.winograd_weights_workspace(a, threads));
        r->f32.winograd_weights(a, weights_space.get(), Threads(threads));
      }
      for (int64_t i = 0; i < y[0].size(); ++i) ASSERT_EQ(y[0][i], y[1][i]) << r->isa;
      for (int64_t i = 0; i < dw[0].size(); ++i) ASSERT_EQ(dw[0][i], dw[1][i]) << r->isa;
    }
}

}  // namespace
}  // namespace tenon::cpu

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

int64_t Count(const ConvPoolShape& s) { return s.n * s.c * s.h * s.w; }
int64_t PooledCount(const ConvPoolShape& s) { return s.n * s.oc * s.PooledH() * s.PooledW(); }

// Values in double precision; y and winners [n][ph][pw][oc].
struct Expected {
  std::vector<double> y, dx, dw, db;
  std::vector<double> best, chosen;  // of each window: the greatest value, and the one of the winner that was given
  std::vector<uint8_t> winners;
};

double At(const ConvPoolShape& s, const float* x, const Strides4& t, int64_t n, int64_t c, int64_t h, int64_t w) {
  return h < 0 || w < 0 || h >= s.h || w >= s.w ? 0.0 : double{x[n * t.n + c * t.c + h * t.h + w * t.w]};
}

// `winners`: those of the routine, so that near ties cannot make the gradients differ.
Expected Compute(const ConvPoolShape& s, const float* x, const Strides4& xt, const float* w, const float* b,
                 const float* dy, const Strides4& yt, const uint8_t* winners) {
  Expected e;
  const int64_t ph = s.PooledH(), pw = s.PooledW(), kernel = s.c * s.kh * s.kw;
  e.y.resize(static_cast<size_t>(PooledCount(s)));
  e.winners.resize(e.y.size());
  e.dx.resize(static_cast<size_t>(Count(s)));
  e.dw.resize(static_cast<size_t>(s.oc * kernel));
  e.db.resize(static_cast<size_t>(s.oc));
  auto conv = [&](int64_t n, int64_t o, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t kh = 0; kh < s.kh; ++kh)
        for (int64_t kw = 0; kw < s.kw; ++kw)
          sum += At(s, x, xt, n, c, i * s.stride_h - s.pad_top + kh * s.dilation_h,
                    j * s.stride_w - s.pad_left + kw * s.dilation_w) *
                 double{w[o * kernel + (c * s.kh + kh) * s.kw + kw]};
    return sum + (b != nullptr ? double{b[o]} : 0.0);
  };
  size_t at = 0;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t i = 0; i < ph; ++i)
      for (int64_t j = 0; j < pw; ++j)
        for (int64_t o = 0; o < s.oc; ++o, ++at) {
          double best = 0;
          int64_t where = -1;
          for (int64_t q = 0; q < s.pool_h * s.pool_w; ++q) {
            const double v = conv(n, o, i * s.pool_stride_h + q / s.pool_w, j * s.pool_stride_w + q % s.pool_w);
            if (where < 0 || v > best) best = v, where = q;
          }
          e.best.push_back(best);
          e.chosen.push_back(winners == nullptr ? best
                                                : conv(n, o, i * s.pool_stride_h + winners[at] / s.pool_w,
                                                       j * s.pool_stride_w + winners[at] % s.pool_w));
          e.y[at] = s.relu ? std::max(best, 0.0) : best;
          e.winners[at] = static_cast<uint8_t>(where);
          if (dy == nullptr || (s.relu && best <= 0)) continue;
          const double g = dy[n * yt.n + o * yt.c + i * yt.h + j * yt.w];
          const int64_t q = winners != nullptr ? winners[at] : 0;
          const int64_t h0 = (i * s.pool_stride_h + q / s.pool_w) * s.stride_h - s.pad_top;
          const int64_t w0 = (j * s.pool_stride_w + q % s.pool_w) * s.stride_w - s.pad_left;
          e.db[static_cast<size_t>(o)] += g;
          for (int64_t c = 0; c < s.c; ++c)
            for (int64_t kh = 0; kh < s.kh; ++kh)
              for (int64_t kw = 0; kw < s.kw; ++kw) {
                const int64_t h = h0 + kh * s.dilation_h, v = w0 + kw * s.dilation_w;
                const int64_t k = o * kernel + (c * s.kh + kh) * s.kw + kw;
                e.dw[static_cast<size_t>(k)] += g * At(s, x, xt, n, c, h, v);
                if (h >= 0 && v >= 0 && h < s.h && v < s.w)
                  e.dx[static_cast<size_t>(((n * s.c + c) * s.h + h) * s.w + v)] += g * double{w[k]};
              }
        }
  return e;
}

// Winners as [n][ph][pw][oc], whatever the order of the routine's.
std::vector<uint8_t> ChannelLast(const Routines& r, const ConvPoolShape& s, const uint8_t* winners) {
  const int64_t ph = s.PooledH(), pw = s.PooledW();
  std::vector<uint8_t> last(static_cast<size_t>(PooledCount(s)));
  for (int64_t row = 0; row < s.n * ph; ++row)
    for (int64_t o = 0; o < s.oc; ++o)
      for (int64_t j = 0; j < pw; ++j)
        last[static_cast<size_t>((row * pw + j) * s.oc + o)] =
            UsePooledColumns(s, r.lanes) ? winners[(row * s.oc + o) * pw + j] : winners[(row * pw + j) * s.oc + o];
  return last;
}

std::string Name(const Routines& r, const ConvPoolShape& s) {
  return std::string(r.isa) + " n" + std::to_string(s.n) + " c" + std::to_string(s.c) + " " + std::to_string(s.h) +
         "x" + std::to_string(s.w) + " oc" + std::to_string(s.oc) + " k" + std::to_string(s.kh) + "x" +
         std::to_string(s.kw);
}

void Check(const Routines& r, const ConvPoolShape& s, bool channel_last_x, bool channel_last_y, bool bias,
           int64_t threads, int64_t apart = 1) {
  SCOPED_TRACE(Name(r, s));
  const auto x = Random(apart * Count(s), 1), w = Random(s.oc * s.c * s.kh * s.kw, 2), b = Random(s.oc, 3);
  const auto dy = Random(PooledCount(s), 4);
  Array<float> y(PooledCount(s), 7.0f), dx(apart * Count(s), 7.0f), dw(w.size(), 7.0f), db(s.oc, 7.0f);
  // Without a pool nobody may ask for winners; all are position 0.
  Array<uint8_t> winners(PooledCount(s), static_cast<uint8_t>(s.pool_h == 1 ? 0 : 99));
  Strides4 xt = channel_last_x ? NhwcStrides(s.c, s.h, s.w) : NchwStrides(s.c, s.h, s.w);
  for (int64_t* stride : {&xt.n, &xt.c, &xt.h, &xt.w}) *stride *= apart;
  const Strides4 yt =
      channel_last_y ? NhwcStrides(s.oc, s.PooledH(), s.PooledW()) : NchwStrides(s.oc, s.PooledH(), s.PooledW());
  ConvPoolForwardArgs f;
  f.shape = s, f.x = x.get(), f.x_strides = xt, f.weights = w.get(), f.bias = bias ? b.get() : nullptr, f.y = y.get();
  f.y_strides = yt, f.winners = s.pool_h == 1 && bias ? nullptr : winners.get();
  Workspace fs(r.conv_pool_forward_workspace(f, threads));
  r.conv_pool_forward(f, fs.get(), Threads(threads));
  ConvPoolBackwardArgs g;
  g.shape = s, g.x = x.get(), g.x_strides = xt, g.weights = w.get(), g.dy = dy.get(), g.dy_strides = yt, g.y = y.get();
  g.y_strides = yt, g.winners = winners.get(), g.dx = dx.get(), g.dx_strides = xt, g.dw = dw.get(), g.db = db.get();
  Workspace gs(r.conv_pool_backward_workspace(g, threads));
  r.conv_pool_backward(g, gs.get(), Threads(threads));
  const std::vector<uint8_t> last = ChannelLast(r, s, winners.get());
  const Expected e = Compute(s, x.get(), xt, w.get(), f.bias, dy.get(), yt, last.data());
  const double size = std::sqrt(static_cast<double>(s.c * s.kh * s.kw)) + 1;
  size_t at = 0;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t i = 0; i < s.PooledH(); ++i)
      for (int64_t j = 0; j < s.PooledW(); ++j)
        for (int64_t o = 0; o < s.oc; ++o, ++at) {
          ASSERT_NEAR(y[n * yt.n + o * yt.c + i * yt.h + j * yt.w], e.y[at], 1e-5 * size);
          ASSERT_LT(last[at], s.pool_h * s.pool_w);
          ASSERT_NEAR(e.chosen[at], e.best[at], 1e-5 * size) << "winner " << at;
        }
  const double many = std::sqrt(static_cast<double>(s.n * s.PooledH() * s.PooledW())) + 1;
  for (size_t i = 0; i < e.dw.size(); ++i) ASSERT_NEAR(dw[static_cast<int64_t>(i)], e.dw[i], 1e-5 * many) << "dw " << i;
  for (size_t i = 0; i < e.db.size(); ++i) ASSERT_NEAR(db[static_cast<int64_t>(i)], e.db[i], 1e-5 * many) << "db " << i;
  at = 0;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t h = 0; h < s.h; ++h)
        for (int64_t v = 0; v < s.w; ++v, ++at)
          ASSERT_NEAR(dx[n * xt.n + c * xt.c + h * xt.h + v * xt.w], e.dx[at], 1e-5 * (many + size)) << "dx " << at;
}

ConvPoolShape Shape(int64_t n, int64_t c, int64_t h, int64_t w, int64_t oc, int64_t k, int64_t pad, int64_t pool) {
  ConvPoolShape s;
  s.n = n, s.c = c, s.h = h, s.w = w, s.oc = oc, s.kh = s.kw = k;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  s.pool_h = s.pool_w = s.pool_stride_h = s.pool_stride_w = pool;
  return s;
}

TEST(ConvPool, AgreesWithDoublePrecision) {
  std::vector<ConvPoolShape> shapes = {
      Shape(3, 1, 12, 12, 6, 5, 2, 2), Shape(5, 6, 10, 10, 16, 5, 0, 2), Shape(2, 3, 9, 11, 5, 3, 1, 3),
      Shape(1, 2, 5, 5, 1, 1, 0, 1),   Shape(2, 17, 6, 7, 33, 3, 1, 1),  Shape(2, 4, 8, 8, 70, 2, 0, 2),
      Shape(4, 1, 7, 30, 9, 7, 3, 1),  Shape(1, 9, 4, 4, 3, 4, 0, 1),    Shape(2, 3, 13, 13, 20, 3, 0, 4)};
  shapes.push_back(Shape(2, 1, 9, 40, 5, 3, 1, 2));   // one channel and a pool of 2 x 2: two vectors of pooled columns,
  shapes.push_back(Shape(2, 1, 75, 13, 3, 6, 2, 2));  // two bands of rows,
  shapes.push_back(Shape(3, 1, 12, 35, 19, 7, 3, 2));  // more channels than lanes
  shapes.push_back(Shape(2, 5, 10, 12, 9, 3, 1, 2));   // dx in patches
  shapes.push_back(Shape(2, 8, 9, 10, 21, 3, 0, 2));
  ConvPoolShape odd = Shape(2, 3, 15, 14, 7, 3, 1, 2);
  odd.stride_h = 2, odd.dilation_w = 2, odd.pad_left = 2, odd.pad_bottom = 0, odd.kw = 4;
  shapes.push_back(odd);
  odd.pool_h = 3, odd.pool_stride_h = 1, odd.stride_h = 1, odd.dilation_h = 3, odd.pad_top = 3, odd.stride_w = 2;
  shapes.push_back(odd);
  shapes.push_back(Shape(1, 130, 5, 5, 18, 3, 1, 1));  // weights of a window in several parts
  shapes.push_back(Shape(1, 700, 3, 4, 9, 2, 0, 1));
  shapes.push_back(Shape(2, 48, 10, 19, 5, 3, 0, 1));  // and one vector of channels in tiles of neighbouring pixels
  shapes.push_back(Shape(1, 16, 14, 14, 48, 5, 2, 2));
  shapes.push_back(Shape(1, 3, 12, 13, 40, 3, 1, 1));
  for (const Routines* r : AllRoutines())
    for (ConvPoolShape s : shapes)
      for (int form = 0; form < 8; ++form) {
        s.relu = (form & 1) != 0;
        Check(*r, s, (form & 2) != 0, (form & 4) != 0, form % 3 != 0, form == 7 ? 3 : 1, form == 4 ? 2 : 1);
      }
}

TEST(ConvPool, ThreadsGiveTheSameBits) {
  for (const Routines* r : AllRoutines())
    for (ConvPoolShape s : {Shape(32, 6, 14, 14, 16, 5, 0, 2), Shape(32, 1, 28, 28, 6, 5, 2, 2)}) {
      s.relu = true;
      const int64_t kernel = s.oc * s.c * s.kh * s.kw;
      const auto x = Random(Count(s), 1), w = Random(kernel, 2), dy = Random(PooledCount(s), 3);
      Array<float> y[2] = {Array<float>(PooledCount(s)), Array<float>(PooledCount(s))};
      Array<float> dx[2] = {Array<float>(Count(s)), Array<float>(Count(s))};
      Array<float> dw[2] = {Array<float>(kernel), Array<float>(kernel)},
                   db[2] = {Array<float>(s.oc), Array<float>(s.oc)};
      Array<uint8_t> winners(PooledCount(s));
      for (int64_t t : {0, 1}) {
        ConvPoolForwardArgs f;
        f.shape = s, f.x = x.get(), f.x_strides = NhwcStrides(s.c, s.h, s.w), f.weights = w.get(), f.y = y[t].get();
        f.y_strides = NhwcStrides(s.oc, s.PooledH(), s.PooledW()), f.winners = winners.get();
        Workspace fs(r->conv_pool_forward_workspace(f, 1 + 2 * t));
        r->conv_pool_forward(f, fs.get(), Threads(1 + 2 * t));
        ConvPoolBackwardArgs g;
        g.shape = s, g.x = x.get(), g.x_strides = f.x_strides, g.weights = w.get(), g.dy = dy.get();
        g.dy_strides = g.y_strides = f.y_strides, g.y = y[t].get(), g.winners = winners.get();
        g.dx = dx[t].get(), g.dx_strides = f.x_strides, g.dw = dw[t].get(), g.db = db[t].get();
        Workspace gs(r->conv_pool_backward_workspace(g, 1 + 2 * t));
        r->conv_pool_backward(g, gs.get(), Threads(1 + 2 * t));
      }
      for (int64_t i = 0; i < y[0].size(); ++i) ASSERT_EQ(y[0][i], y[1][i]);
      for (int64_t i = 0; i < dx[0].size(); ++i) ASSERT_EQ(dx[0][i], dx[1][i]);
      for (int64_t i = 0; i < kernel; ++i) ASSERT_EQ(dw[0][i], dw[1][i]);
      for (int64_t i = 0; i < s.oc; ++i) ASSERT_EQ(db[0][i], db[1][i]);
    }
}

TEST(ConvPool, FirstMaximumWinsTiesAndNanWinsAll) {
  for (const Routines* r : AllRoutines()) {
    ConvPoolShape s = Shape(1, 1, 2, 4, 1, 1, 0, 2);
    s.relu = true;
    Array<float> x(8, 1.0f), w(1, 1.0f), y(2);
    Array<uint8_t> winners(2, 9);
    x[6] = std::nanf("");
    ConvPoolForwardArgs f;
    f.shape = s, f.x = x.get(), f.x_strides = NchwStrides(1, 2, 4), f.weights = w.get(), f.y = y.get();
    f.y_strides = NchwStrides(1, 1, 2), f.winners = winners.get();
    Workspace fs(r->conv_pool_forward_workspace(f, 1));
    r->conv_pool_forward(f, fs.get(), {});
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(winners[0], 0);
    EXPECT_TRUE(std::isnan(y[1])) << r->isa;
    EXPECT_EQ(winners[1], 2);
  }
}

TEST(ConvPool, EmptyBatchIsLegal) {
  for (const Routines* r : AllRoutines()) {
    ConvPoolShape s = Shape(0, 2, 4, 4, 3, 3, 0, 2);
    Array<float> dw(54, 7.0f), db(3, 7.0f), nothing(1);
    ConvPoolBackwardArgs g;
    g.shape = s, g.dw = dw.get(), g.db = db.get(), g.x = g.dy = g.y = nothing.get();
    r->conv_pool_backward(g, nullptr, {});
    EXPECT_EQ(dw[53], 0.0f);
    EXPECT_EQ(db[2], 0.0f);
  }
}

}  // namespace
}  // namespace tenon::cpu

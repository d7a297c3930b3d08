// Convolutions of bf16 gathered into products, against plain sums in double precision.
#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

ConvPoolShape Shape(int64_t n, int64_t c, int64_t h, int64_t w, int64_t oc, int64_t kh, int64_t kw) {
  ConvPoolShape s;
  s.n = n, s.c = c, s.h = h, s.w = w, s.oc = oc, s.kh = kh, s.kw = kw;
  return s;
}
ConvPoolShape Strided(ConvPoolShape s, int64_t h, int64_t w) {
  s.stride_h = h, s.stride_w = w;
  return s;
}
ConvPoolShape Dilated(ConvPoolShape s, int64_t h, int64_t w) {
  s.dilation_h = h, s.dilation_w = w;
  return s;
}
ConvPoolShape Padded(ConvPoolShape s, int64_t top, int64_t left, int64_t bottom, int64_t right) {
  s.pad_top = top, s.pad_left = left, s.pad_bottom = bottom, s.pad_right = right;
  return s;
}

const ConvPoolShape kShapes[] = {
    Padded(Shape(2, 16, 8, 8, 32, 3, 3), 1, 1, 1, 1),
    Strided(Padded(Shape(2, 32, 9, 7, 48, 3, 3), 1, 1, 1, 1), 2, 2),
    Strided(Padded(Shape(3, 64, 8, 8, 128, 3, 3), 1, 1, 1, 1), 2, 2),
    Strided(Padded(Shape(1, 4, 15, 16, 34, 7, 7), 3, 3, 3, 3), 2, 2),
    Strided(Shape(2, 64, 7, 9, 40, 1, 1), 2, 2),
    Strided(Padded(Shape(1, 6, 4, 4, 2, 1, 1), 0, 1, 2, 0), 3, 1),
    Dilated(Padded(Shape(1, 20, 9, 11, 24, 3, 3), 2, 2, 2, 2), 2, 2),
    Strided(Dilated(Padded(Shape(2, 18, 10, 9, 50, 3, 2), 1, 0, 2, 3), 3, 2), 2, 3),
    Strided(Dilated(Padded(Shape(1, 18, 12, 12, 16, 3, 3), 2, 1, 0, 2), 2, 2), 2, 2),
    Strided(Padded(Shape(1, 34, 11, 5, 70, 5, 5), 2, 2, 2, 2), 3, 3),
    Padded(Shape(2, 40, 6, 5, 18, 5, 5), 2, 2, 2, 2),
    Padded(Shape(1, 2, 3, 3, 2, 3, 3), 2, 2, 2, 2),
    Padded(Shape(1, 8, 1, 1, 12, 3, 3), 1, 1, 1, 1),
    Shape(1, 36, 3, 60, 14, 1, 5),
    Strided(Padded(Shape(40, 70, 8, 8, 100, 3, 3), 1, 1, 1, 1), 2, 2),
    Shape(1, 4, 5, 5, 6, 5, 5),
    Shape(1, 50, 13, 3, 46, 1, 1),
};

// What one convolution has to give, from the same bf16 numbers.
struct Reference {
  Array<Bf16> x, dy, w, bias;
  std::vector<double> y, dx, dw, db;

  explicit Reference(const ConvPoolShape& s)
      : x(Rounded(Random(s.n * s.c * s.h * s.w, 1))),
        dy(Rounded(Random(s.n * s.oc * s.ConvH() * s.ConvW(), 2))),
        w(Rounded(Random(s.oc * s.c * s.kh * s.kw, 3))),
        bias(Rounded(Random(s.oc, 4))),
        y(static_cast<size_t>(dy.size())),
        dx(static_cast<size_t>(x.size())),
        dw(static_cast<size_t>(w.size())),
        db(static_cast<size_t>(s.oc)) {
    const Array<float> fx = Widened(x), fdy = Widened(dy), fw = Widened(w), fb = Widened(bias);
    for (int64_t i = 0; i < dy.size(); ++i) {
      y[static_cast<size_t>(i)] = fb[i % s.oc];
      db[static_cast<size_t>(i % s.oc)] += fdy[i];
    }
    for (int64_t p = 0; p < dy.size() / s.oc; ++p)
      for (int64_t k = 0; k < s.kh * s.kw; ++k) {
        const int64_t ow = p % s.ConvW(), oh = p / s.ConvW() % s.ConvH(), n = p / s.ConvW() / s.ConvH();
        const int64_t h = oh * s.stride_h - s.pad_top + k / s.kw * s.dilation_h;
        const int64_t v = ow * s.stride_w - s.pad_left + k % s.kw * s.dilation_w;
        if (h < 0 || v < 0 || h >= s.h || v >= s.w) continue;
        for (int64_t c = 0; c < s.c; ++c)
          for (int64_t oc = 0; oc < s.oc; ++oc) {
            const int64_t ix = ((n * s.h + h) * s.w + v) * s.c + c, iw = (oc * s.c + c) * s.kh * s.kw + k,
                          iy = p * s.oc + oc;
            y[static_cast<size_t>(iy)] += static_cast<double>(fx[ix]) * fw[iw];
            dx[static_cast<size_t>(ix)] += static_cast<double>(fdy[iy]) * fw[iw];
            dw[static_cast<size_t>(iw)] += static_cast<double>(fdy[iy]) * fx[ix];
          }
      }
  }
};

// Sums are exact but for f32, the results are rounded to 8 bits.
void ExpectRounded(const Array<float>& got, const std::vector<double>& want, const char* what, int64_t number) {
  double largest = 0;
  for (const double value : want) largest = std::max(largest, std::abs(value));
  for (int64_t i = 0; i < got.size(); ++i) {
    const double value = want[static_cast<size_t>(i)];
    ASSERT_NEAR(got[i], value, std::abs(value) / 256 + 2e-6 * largest) << what << " " << i << " of shape " << number;
  }
}

const uint16_t* Numbers(const Array<Bf16>& a) { return reinterpret_cast<const uint16_t*>(a.get()); }
uint16_t* Numbers(Array<Bf16>& a) { return reinterpret_cast<uint16_t*>(a.get()); }

class ConvBf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindBf16Routines() == nullptr) GTEST_SKIP() << "This processor has no instructions for bf16.";
  }
};

Array<Bf16> Forward(const ConvPoolShape& s, const Reference& r, bool wide, bool relu, int64_t threads) {
  const Array<float> wide_weights = Widened(r.w);
  Array<Bf16> y(r.dy.size());
  ConvBf16ForwardArgs a;
  a.shape = s, a.x = Numbers(r.x), a.bias = Numbers(r.bias), a.y = Numbers(y), a.relu = relu;
  if (wide)
    a.wide_weights = wide_weights.get();
  else
    a.weights = Numbers(r.w);
  Workspace space(FindBf16Routines()->conv_forward_workspace(a, threads));
  FindBf16Routines()->conv_forward(a, space.get(), Threads(threads));
  return y;
}

Array<Bf16> Data(const ConvPoolShape& s, const Reference& r, bool wide, int64_t threads) {
  const Array<float> wide_weights = Widened(r.w);
  Array<Bf16> dx(r.x.size());
  ConvBf16DataArgs a;
  a.shape = s, a.dy = Numbers(r.dy), a.dx = Numbers(dx);
  if (wide)
    a.wide_weights = wide_weights.get();
  else
    a.weights = Numbers(r.w);
  Workspace space(FindBf16Routines()->conv_data_workspace(a, threads));
  FindBf16Routines()->conv_data(a, space.get(), Threads(threads));
  return dx;
}

template <class T>
Array<T> Weights(const ConvPoolShape& s, const Reference& r, int64_t threads, Array<Bf16>* db = nullptr) {
  Array<T> dw(r.w.size());
  ConvBf16WeightsArgs a;
  a.shape = s, a.x = Numbers(r.x), a.dy = Numbers(r.dy);
  if constexpr (sizeof(T) == 4)
    a.wide_dw = dw.get();
  else
    a.dw = Numbers(dw);
  if (db != nullptr) a.db = Numbers(*db);
  Workspace space(FindBf16Routines()->conv_weights_workspace(a, threads));
  FindBf16Routines()->conv_weights(a, space.get(), Threads(threads));
  return dw;
}

TEST_F(ConvBf16, AgreesWithDoublePrecision) {
  int64_t number = 0;
  for (const ConvPoolShape& s : kShapes) {
    const Reference r(s);
    for (const bool wide : {false, true}) {
      ExpectRounded(Widened(Forward(s, r, wide, false, 1)), r.y, "y", number);
      std::vector<double> positive = r.y;
      for (double& value : positive) value = std::max(value, 0.0);
      ExpectRounded(Widened(Forward(s, r, wide, true, 1)), positive, "relu(y)", number);
      ExpectRounded(Widened(Data(s, r, wide, 1)), r.dx, "dx", number);
    }
    Array<Bf16> db(s.oc);
    ExpectRounded(Widened(Weights<Bf16>(s, r, 1, &db)), r.dw, "dw", number);
    ExpectRounded(Widened(db), r.db, "db", number);
    ExpectRounded(Weights<float>(s, r, 1), r.dw, "wide dw", number);
    ++number;
  }
}

TEST_F(ConvBf16, GivesTheSameBitsForAnyNumberOfThreads) {
  const ConvPoolShape shapes[] = {Strided(Padded(Shape(16, 64, 17, 16, 96, 3, 3), 1, 1, 1, 1), 2, 2),
                                  Padded(Shape(8, 16, 32, 31, 64, 5, 5), 2, 2, 2, 2),
                                  Strided(Shape(16, 64, 32, 32, 128, 1, 1), 2, 2)};
  for (const ConvPoolShape& s : shapes) {
    const Reference r(s);
    const Array<Bf16> y = Forward(s, r, false, false, 1), dx = Data(s, r, false, 1), dw = Weights<Bf16>(s, r, 1);
    for (const int64_t threads : {2, 3}) {
      const Array<Bf16> y2 = Forward(s, r, true, false, threads), dx2 = Data(s, r, true, threads),
                        dw2 = Weights<Bf16>(s, r, threads);
      for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i].bits, y2[i].bits) << threads;
      for (int64_t i = 0; i < dx.size(); ++i) ASSERT_EQ(dx[i].bits, dx2[i].bits) << threads;
      for (int64_t i = 0; i < dw.size(); ++i) ASSERT_EQ(dw[i].bits, dw2[i].bits) << threads;
    }
  }
}

// Weights in f32 count as the nearest bf16.
TEST_F(ConvBf16, RoundsWideWeights) {
  const ConvPoolShape s = Padded(Shape(1, 16, 4, 4, 16, 3, 3), 1, 1, 1, 1);
  const Reference r(s);
  const Array<float> wide = Random(r.w.size(), 7);
  const Array<Bf16> near = Rounded(wide);
  Array<Bf16> y(r.dy.size()), want(r.dy.size());
  ConvBf16ForwardArgs a;
  a.shape = s, a.x = Numbers(r.x);
  Workspace space(FindBf16Routines()->conv_forward_workspace(a, 1));
  a.wide_weights = wide.get(), a.y = Numbers(y);
  FindBf16Routines()->conv_forward(a, space.get(), {});
  a.wide_weights = nullptr, a.weights = Numbers(near), a.y = Numbers(want);
  FindBf16Routines()->conv_forward(a, space.get(), {});
  for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i].bits, want[i].bits);
}

}  // namespace
}  // namespace tenon::cpu

// Gradients of depthwise weights against plain sums in double precision: windows, steps, dilations and pads of many sizes, images of
// several bands.
#include <type_traits>

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

ConvPoolShape Shape(int64_t n, int64_t c, int64_t h, int64_t w, int64_t kh, int64_t kw) {
  ConvPoolShape s;
  s.n = n, s.c = c, s.h = h, s.w = w, s.kh = kh, s.kw = kw;
  return s;
}
ConvPoolShape With(ConvPoolShape s, int64_t stride_h, int64_t stride_w, int64_t dilation_h, int64_t dilation_w,
                   int64_t top, int64_t left, int64_t bottom, int64_t right) {
  s.stride_h = stride_h, s.stride_w = stride_w, s.dilation_h = dilation_h, s.dilation_w = dilation_w;
  s.pad_top = top, s.pad_left = left, s.pad_bottom = bottom, s.pad_right = right;
  return s;
}

const ConvPoolShape kShapes[] = {
    Shape(1, 1, 1, 1, 1, 1),
    With(Shape(2, 16, 8, 8, 3, 3), 1, 1, 1, 1, 1, 1, 1, 1),
    With(Shape(2, 33, 9, 7, 3, 3), 2, 2, 1, 1, 1, 1, 1, 1),
    With(Shape(3, 5, 12, 10, 9, 9), 1, 1, 1, 1, 4, 4, 4, 4),
    With(Shape(1, 40, 11, 13, 7, 5), 1, 2, 2, 1, 6, 0, 5, 2),
    With(Shape(2, 8, 6, 20, 2, 14), 1, 1, 1, 1, 0, 13, 1, 0),
    With(Shape(1, 20, 5, 5, 5, 5), 3, 1, 1, 2, 0, 4, 4, 4),
    With(Shape(1, 3, 90, 100, 3, 4), 1, 1, 1, 1, 1, 2, 1, 1),
};

// In double precision: dw, then db.
std::vector<double> Sums(const ConvPoolShape& s, const Array<float>& x, const Array<float>& dy) {
  std::vector<double> sums(static_cast<size_t>(s.c * (s.kh * s.kw + 1)));
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t i = 0; i < s.ConvH(); ++i)
      for (int64_t j = 0; j < s.ConvW(); ++j)
        for (int64_t c = 0; c < s.c; ++c) {
          const double g = dy[((n * s.ConvH() + i) * s.ConvW() + j) * s.c + c];
          sums[static_cast<size_t>(s.c * s.kh * s.kw + c)] += g;
          for (int64_t k = 0; k < s.kh * s.kw; ++k) {
            const int64_t h = i * s.stride_h - s.pad_top + k / s.kw * s.dilation_h,
                          w = j * s.stride_w - s.pad_left + k % s.kw * s.dilation_w;
            if (h < 0 || w < 0 || h >= s.h || w >= s.w) continue;
            sums[static_cast<size_t>(c * s.kh * s.kw + k)] += g * x[((n * s.h + h) * s.w + w) * s.c + c];
          }
        }
  return sums;
}

template <class T>
void Check() {
  const double tolerance = std::is_same_v<T, float> ? 1e-4 : 8e-3;
  for (const Routines* r : AllRoutines())
    for (const ConvPoolShape& s : kShapes) {
      const auto x = As<T>(Random(s.n * s.c * s.h * s.w, 1)), dy = As<T>(Random(s.n * s.c * s.ConvH() * s.ConvW(), 2));
      const std::vector<double> want = Sums(s, Floats(x), Floats(dy));
      std::vector<Array<float>> results;
      for (const int64_t threads : {1, 3}) {
        Array<T> dw(s.c * s.kh * s.kw), db(s.c);
        const DepthwiseWeightsArgsOf<T> a{s, x.get(), dy.get(), dw.get(), db.get()};
        Workspace space(r->template of<T>().depthwise_weights_workspace(a, threads));
        r->template of<T>().depthwise_weights(a, space.get(), Threads(threads));
        results.push_back(Floats(dw));
        const Array<float> bias = Floats(db);
        for (int64_t i = 0; i < dw.size(); ++i) {
          const double w = want[static_cast<size_t>(i)];
          ASSERT_NEAR(results.back()[i], w, tolerance * (1 + std::abs(w)))
              << r->isa << " " << i << " of window " << s.kh;
        }
        for (int64_t i = 0; i < s.c; ++i) {
          const double w = want[static_cast<size_t>(dw.size() + i)];
          ASSERT_NEAR(bias[i], w, tolerance * (1 + std::abs(w))) << r->isa << " bias " << i;
        }
      }
      for (int64_t i = 0; i < results[0].size(); ++i) ASSERT_EQ(results[0][i], results[1][i]) << r->isa;
    }
}

TEST(DepthwiseWeights, AgreeWithDoublePrecision) { Check<float>(); }
TEST(DepthwiseWeights, AgreeWithDoublePrecisionInBf16) { Check<Bf16>(); }

}  // namespace
}  // namespace tenon::cpu

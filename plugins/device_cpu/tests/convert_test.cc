// Rounding to nearest even is computed here in double precision from the definition of the formats.
#include <cstring>
#include <limits>

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

// `digits`: explicit bits of the fraction; `low`: exponent of the smallest normal number; `high`: of the largest.
struct Format {
  NumberFormat name;
  int digits, low, high;
};
constexpr Format kFormats[] = {{NumberFormat::kBF16, 7, -126, 127}, {NumberFormat::kF16, 10, -14, 15}};

double Rounded(const Format& format, float x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - 1, format.low) - format.digits;
  const double y = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -last)), last);
  return std::abs(y) >= std::ldexp(1.0, format.high + 1) ? std::copysign(INFINITY, x) : y;
}

template <class X, class Y>
void Through(const Routines& r, NumberFormat from, NumberFormat to, const Array<X>& x, Array<Y>& y,
             int64_t threads = 1) {
  ConvertArgs args;
  args.count = x.size(), args.from = from, args.to = to, args.x = x.get(), args.y = y.get();
  r.convert(args, Threads(threads));
}

void ExpectSame(double want, float got, const char* isa, float x) {
  if (std::isnan(want)) {
    ASSERT_TRUE(std::isnan(got)) << isa << " of " << x;
  } else {
    ASSERT_EQ(static_cast<float>(want), got) << isa << " of " << x;
    ASSERT_EQ(std::signbit(want), std::signbit(got)) << isa << " of " << x;
  }
}

TEST(Convert, EveryShortNumberSurvivesTheWayThroughFloat) {
  Array<uint16_t> all(65536), back(65536);
  for (int64_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Routines* r : AllRoutines())
    for (const Format& format : kFormats) {
      Array<float> wide(65536);
      Through(*r, format.name, NumberFormat::kF32, all, wide, 3);
      Through(*r, NumberFormat::kF32, format.name, wide, back, 2);
      for (int64_t i = 0; i < all.size(); ++i) {
        if (std::isnan(wide[i])) continue;  // quiet in both
        ASSERT_EQ(all[i], back[i]) << r->isa;
        ASSERT_EQ(wide[i], Rounded(format, wide[i])) << r->isa;
      }
    }
}

TEST(Convert, RoundsToNearestEven) {
  constexpr int64_t kCount = 100003;
  Array<float> x(kCount);
  std::mt19937 generator(1);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint32_t bits = static_cast<uint32_t>(generator());
    std::memcpy(&x[i], &bits, sizeof bits);
    if (i % 3 == 0) x[i] = std::ldexp(static_cast<float>(generator() % 4097), static_cast<int>(generator() % 40) - 30);
  }
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65504, 65519.996f, 65520, 3.3961776e38f};
  for (size_t i = 0; i < std::size(special); ++i) x[static_cast<int64_t>(i)] = special[i];
  for (const Routines* r : AllRoutines())
    for (const Format& format : kFormats) {
      Array<uint16_t> narrow(kCount);
      Array<float> wide(kCount);
      Through(*r, NumberFormat::kF32, format.name, x, narrow);
      Through(*r, format.name, NumberFormat::kF32, narrow, wide);
      for (int64_t i = 0; i < kCount; ++i) ExpectSame(Rounded(format, x[i]), wide[i], r->isa, x[i]);
    }
}

TEST(Convert, BetweenTheShortFormats) {
  Array<uint16_t> all(65536), half(65536);
  for (int64_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Routines* r : AllRoutines()) {
    Array<float> wide(65536), result(65536);
    Through(*r, NumberFormat::kBF16, NumberFormat::kF32, all, wide);
    Through(*r, NumberFormat::kBF16, NumberFormat::kF16, all, half);
    Through(*r, NumberFormat::kF16, NumberFormat::kF32, half, result);
    for (int64_t i = 0; i < all.size(); ++i) ExpectSame(Rounded(kFormats[1], wide[i]), result[i], r->isa, wide[i]);
  }
}

}  // namespace
}  // namespace tenon::cpu

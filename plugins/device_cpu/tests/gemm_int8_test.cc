// Products of bytes against plain 64-bit sums, for every instruction set that runs here.
#include "plugins/device_cpu/compute/gemm_int8.h"

#include <string>

#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace wide {
extern const Int8Routines kInt8Routines;
}
namespace {

std::vector<const Int8Routines*> AllInt8Routines() {
  std::vector<const Int8Routines*> all;
  for (const char* isa : {"sse2", "avx2", "avx512"})
    if (const Int8Routines* r = FindInt8Routines(isa)) all.push_back(r);
  if (FindRoutines("avx2") != nullptr) all.push_back(&wide::kInt8Routines);
  return all;
}

Array<uint8_t> RandomBytes(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Array<uint8_t> out(count);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(generator() % 256);
  return out;
}

int64_t Number(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

struct Case {
  int64_t m, n, k;
  bool a_signed = false, b_signed = true, a_transposed = false, b_transposed = false, many = false;
  int64_t threads = 1;
};

// Operands in memory that ends at their last element, and the exact sums.
struct Problem {
  explicit Problem(const Case& c)
      : a(RandomBytes(c.m * c.k, 1)),
        b(RandomBytes(c.k * c.n, 2)),
        a_zero(RandomBytes(c.many ? c.m : 1, 3)),
        b_zero(RandomBytes(c.many ? c.n : 1, 4)),
        bias(c.m) {
    for (int64_t i = 0; i < c.m; ++i) bias[i] = static_cast<int32_t>(1000 * i - 7000);
    g.m = c.m, g.n = c.n, g.k = c.k, g.c_row = c.n;
    const int64_t step = c.many ? 1 : 0;
    g.a = {a.get(), c.a_transposed ? 1 : c.k, c.a_transposed ? c.m : 1, c.a_signed, {a_zero.get(), step}};
    g.b = {b.get(), c.b_transposed ? 1 : c.n, c.b_transposed ? c.k : 1, c.b_signed, {b_zero.get(), step}};
    g.bias = {bias.get(), 1};
  }
  int64_t Sum(int64_t i, int64_t j) const {
    const int64_t za = Number(g.a.zero.at(i), g.a.is_signed), zb = Number(g.b.zero.at(j), g.b.is_signed);
    int64_t sum = bias[i];
    for (int64_t p = 0; p < g.k; ++p)
      sum += (Number(g.a.data[i * g.a.row + p * g.a.col], g.a.is_signed) - za) *
             (Number(g.b.data[p * g.b.row + j * g.b.col], g.b.is_signed) - zb);
    return sum;
  }

  Array<uint8_t> a, b, a_zero, b_zero;
  Array<int32_t> bias;
  GemmInt8Args g;
};

void CheckSums(const Int8Routines& r, const Case& c) {
  Problem problem(c);
  Array<int32_t> sums(c.m * c.n, 77);
  GemmInt8Args g = problem.g;
  g.sums = sums.get();
  Workspace space(r.gemm_workspace(g, c.threads));
  r.gemm(g, space.get(), Threads(c.threads));
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j)
      ASSERT_EQ(sums[i * c.n + j], problem.Sum(i, j))
          << r.name << " " << c.m << "x" << c.n << "x" << c.k << " at " << i << ", " << j;
}

TEST(GemmInt8, EveryShapeSignAndTranspose) {
  const int64_t shapes[][3] = {{1, 1, 1},   {1, 10, 3},   {12, 32, 16},  {13, 33, 17},  {5, 16, 31},
                               {7, 48, 64}, {25, 99, 35}, {40, 10, 129}, {3, 65, 2051}, {2, 5, 0}};
  for (const Int8Routines* r : AllInt8Routines())
    for (const auto& s : shapes)
      for (int bits = 0; bits < 16; ++bits) {
        Case c{s[0], s[1], s[2], (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
        CheckSums(*r, c);
        c.many = true, c.threads = 3;
        CheckSums(*r, c);
      }
}

TEST(GemmInt8, ExtremeBytesDoNotSaturate) {
  for (const Int8Routines* r : AllInt8Routines()) {
    const int64_t k = 1024;
    Array<uint8_t> a(k, 255), b(k, 128);  // 255 * -128
    int32_t sum = 0;
    GemmInt8Args g;
    g.m = g.n = 1, g.k = k, g.c_row = 1;
    g.a.data = a.get(), g.a.row = k;
    g.b.data = b.get(), g.b.row = 1, g.b.is_signed = true;
    g.sums = &sum;
    Workspace space(r->gemm_workspace(g, 1));
    r->gemm(g, space.get(), Threads(1));
    EXPECT_EQ(sum, -255 * 128 * k) << r->name;
  }
}

TEST(GemmInt8, QuantizesAgain) {
  for (const Int8Routines* r : AllInt8Routines())
    for (const bool c_signed : {false, true}) {
      Problem problem({17, 37, 50, true, false, false, false, true});
      const auto a_scale = Random(17, 5, 0.001f, 0.02f), b_scale = Random(37, 6, 0.001f, 0.02f);
      Array<uint8_t> got(17 * 37);
      GemmInt8Args g = problem.g;
      g.quantized = got.get();
      g.a_scale = {a_scale.get(), 1}, g.b_scale = {b_scale.get(), 1}, g.c_scale = 0.3f;
      g.c_signed = c_signed, g.c_zero = c_signed ? -5 : 131;
      Workspace space(r->gemm_workspace(g, 1));
      r->gemm(g, space.get(), Threads(1));
      for (int64_t i = 0; i < 17; ++i)
        for (int64_t j = 0; j < 37; ++j) {
          const float scaled = static_cast<float>(problem.Sum(i, j)) * (a_scale[i] * b_scale[j] / 0.3f);
          const int64_t low = c_signed ? -128 : 0, high = c_signed ? 127 : 255;
          const auto whole = static_cast<int64_t>(std::nearbyint(scaled)) + g.c_zero;
          ASSERT_EQ(Number(got[i * 37 + j], c_signed), std::min(std::max(whole, low), high)) << r->name;
        }
    }
}

TEST(GemmInt8, HalvesGoToEven) {
  for (const Int8Routines* r : AllInt8Routines()) {
    Array<uint8_t> a(1, 1), b(4), got(4);
    b[0] = 1, b[1] = 3, b[2] = 5, b[3] = 7;  // halved: 0.5, 1.5, 2.5, 3.5
    const float half = 0.5f, one = 1.0f;
    GemmInt8Args g;
    g.m = g.k = 1, g.n = 4, g.c_row = 4;
    g.a.data = a.get(), g.a.row = 1, g.b.data = b.get(), g.b.row = 4;
    g.quantized = got.get(), g.a_scale = {&half, 0}, g.b_scale = {&one, 0};
    Workspace space(r->gemm_workspace(g, 1));
    r->gemm(g, space.get(), Threads(1));
    EXPECT_EQ(got[0], 0) << r->name;
    EXPECT_EQ(got[1], 2) << r->name;
    EXPECT_EQ(got[2], 2) << r->name;
    EXPECT_EQ(got[3], 4) << r->name;
  }
}

}  // namespace
}  // namespace tenon::cpu

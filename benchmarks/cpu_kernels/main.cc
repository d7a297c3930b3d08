// Best time of each routine of device_cpu at the shapes of LeNet-5, a small MLP and ResNet-18.
//   cpu_kernels [--isa NAME] [--filter TEXT] [--seconds PER_LINE]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/device_cpu/compute/gemm_bf16.h"
#include "plugins/device_cpu/compute/gemm_int8.h"
#include "plugins/device_cpu/compute/routines.h"

#if TENON_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

#include "plugins/device_cpu/onednn/convolution.h"
extern "C" void omp_set_num_threads(int);
#endif

namespace {

using tenon::cpu::GemmArgs;
using tenon::cpu::Routines;

std::string g_filter;
double g_total_us = 0;
double g_seconds = 0.06;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double BestSeconds(const std::function<void()>& f) {
  f();
  double best = 1e9, spent = 0;
  for (int round = 0; round < 100000 && spent < g_seconds; ++round) {
    const double begin = Now();
    f();
    const double took = Now() - begin;
    spent += took;
    best = std::min(best, took);
  }
  return best;
}

void Report(const std::string& name, double flop, const std::function<void()>& f) {
  if (name.find(g_filter) == std::string::npos) return;
  const double seconds = BestSeconds(f);
  g_total_us += seconds * 1e6;
  std::printf("%-44s %9.1f us", name.c_str(), seconds * 1e6);
  if (flop > 0) std::printf("  %7.1f GFLOP/s", flop / seconds * 1e-9);
  std::printf("\n");
}

struct Floats {
  explicit Floats(int64_t n)
      : p(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(n * 4 + 4096) / 64 * 64))) {
    for (int64_t i = 0; i < n; ++i) p[i] = static_cast<float>((i * 7919) % 1000) / 1000 - 0.5f;
  }
  ~Floats() { std::free(p); }
  Floats(const Floats&) = delete;
  float* p;
};

void BenchGemm(const Routines& r, const char* what, int64_t m, int64_t n, int64_t k, bool at, bool bt) {
  Floats a(m * k), b(k * n), c(m * n), bias(n);
  GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.a = a.p, g.b = b.p, g.c = c.p, g.c_row = n;
  g.a_row = at ? 1 : k, g.a_col = at ? m : 1, g.b_row = bt ? 1 : n, g.b_col = bt ? k : 1;
  Floats space(r.gemm_workspace(g, 1) / 4 + 16);
  char name[128];
  std::snprintf(name, sizeof name, "gemm %s %ldx%ldx%ld%s%s", what, static_cast<long>(m), static_cast<long>(n),
                static_cast<long>(k), at ? " A^T" : "", bt ? " B^T" : "");
  const double flop = 2.0 * static_cast<double>(m * n * k);
  Report(name, flop, [&] { r.gemm(g, space.p, {}); });
#if TENON_HAVE_ONEDNN
  std::snprintf(name, sizeof name, "  dnnl_sgemm %s %ldx%ldx%ld", what, static_cast<long>(m), static_cast<long>(n),
                static_cast<long>(k));
  const double before = g_total_us;
  Report(name, flop,
         [&] { dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', m, n, k, 1, a.p, at ? m : k, b.p, bt ? k : n, 0, c.p, n); });
  g_total_us = before;
#endif
}

constexpr struct { int64_t m, n, k; } kSquares[] = {{256, 256, 256}, {1024, 1024, 1024}, {2048, 1024, 256}};

// f32 products of three bf16 ones, beside the exact ones.
void BenchSplits(const Routines& r) {
  const tenon::cpu::Bf16Routines* bf16 = tenon::cpu::FindBf16Routines();
  if (bf16 == nullptr || r.lanes != 16) return;
  for (const auto& s : kSquares) {
    Floats a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
    GemmArgs g;
    g.m = s.m, g.n = s.n, g.k = s.k, g.a = a.p, g.b = b.p, g.c = c.p;
    g.a_row = s.k, g.b_row = s.n, g.c_row = s.n;
    Floats space(std::max(bf16->products.split_workspace(g, 1), r.gemm_workspace(g, 1)) / 4 + 16);
    char name[128];
    const double flop = 2.0 * static_cast<double>(s.m * s.n * s.k);
    for (const bool split : {false, true}) {
      std::snprintf(name, sizeof name, "%s %ldx%ldx%ld", split ? "split gemm" : "exact gemm", static_cast<long>(s.m),
                    static_cast<long>(s.n), static_cast<long>(s.k));
      Report(name, flop, [&] { (split ? bf16->products.split_gemm : r.gemm)(g, space.p, {}); });
    }
  }
}

// Products of bf16 as linear layers of batch rows need them.
void BenchBf16(const Routines& r, int64_t batch, int64_t in, int64_t out) {
  const tenon::cpu::Bf16Routines* bf16 = tenon::cpu::FindBf16Routines();
  if (bf16 == nullptr || r.lanes != 16) return;
  const std::vector<uint16_t> x(static_cast<size_t>(batch * in), 0x3f80), w(static_cast<size_t>(in * out), 0x3f80),
      y(static_cast<size_t>(batch * out), 0x3f80);
  std::vector<uint16_t> result(static_cast<size_t>(std::max({batch * in, in * out, batch * out})));
  const auto bench = [&](const char* what, int64_t m, int64_t n, int64_t k, const uint16_t* a, bool at,
                         const uint16_t* b, bool bt) {
    tenon::cpu::GemmBf16Args g;
    g.m = m, g.n = n, g.k = k, g.a = a, g.b = b, g.c = result.data(), g.c_row = n;
    g.a_row = at ? 1 : k, g.a_col = at ? m : 1, g.b_row = bt ? 1 : n, g.b_col = bt ? k : 1;
    Floats space(bf16->products.gemm_workspace(g, 1) / 4 + 16);
    char name[128];
    std::snprintf(name, sizeof name, "bf16 gemm %s %ldx%ldx%ld", what, static_cast<long>(m), static_cast<long>(n),
                  static_cast<long>(k));
    Report(name, 2.0 * static_cast<double>(m * n * k), [&] { bf16->products.gemm(g, space.p, {}); });
  };
  bench("forward", batch, out, in, x.data(), false, w.data(), true);
  bench("data", batch, in, out, y.data(), false, w.data(), false);
  bench("weights", out, in, batch, y.data(), true, x.data(), false);
}

// Products of bytes; the unit is 10^9 operations.
void BenchInt8(const Routines& r) {
  const tenon::cpu::Int8Routines* int8 = tenon::cpu::FindInt8Routines(r.isa);
  for (const auto& s : kSquares) {
    std::vector<uint8_t> a(static_cast<size_t>(s.m * s.k), 3), b(static_cast<size_t>(s.k * s.n), 7);
    std::vector<int32_t> c(static_cast<size_t>(s.m * s.n));
    tenon::cpu::GemmInt8Args g;
    g.m = s.m, g.n = s.n, g.k = s.k, g.c_row = s.n, g.sums = c.data();
    g.a.data = a.data(), g.a.row = s.k;
    g.b.data = b.data(), g.b.row = s.n, g.b.is_signed = true;
    Floats space(int8->gemm_workspace(g, 1) / 4 + 16);
    char name[128];
    const double operations = 2.0 * static_cast<double>(s.m * s.n * s.k);
    std::snprintf(name, sizeof name, "int8 gemm (%s) %ldx%ldx%ld", int8->name, static_cast<long>(s.m),
                  static_cast<long>(s.n), static_cast<long>(s.k));
    Report(name, operations, [&] { int8->gemm(g, space.p, {}); });
#if TENON_HAVE_ONEDNN
    std::snprintf(name, sizeof name, "  dnnl_gemm_u8s8s32 %ldx%ldx%ld", static_cast<long>(s.m), static_cast<long>(s.n),
                  static_cast<long>(s.k));
    const double before = g_total_us;
    const int32_t zero = 0;
    Report(name, operations, [&] {
      dnnl_gemm_u8s8s32('N', 'N', 'F', s.m, s.n, s.k, 1, a.data(), s.k, 0, reinterpret_cast<const int8_t*>(b.data()),
                        s.n, 0, 0, c.data(), s.n, &zero);
    });
    g_total_us = before;
#endif
  }
}

void BenchGemms(const Routines& r) {
  struct Layer {
    int64_t batch, in, out;
  };
  for (const Layer l : {Layer{32, 400, 120}, Layer{32, 120, 84}, Layer{32, 84, 10}, Layer{128, 784, 512},
                        Layer{128, 512, 512}, Layer{128, 512, 10}}) {
    BenchGemm(r, "forward", l.batch, l.out, l.in, false, true);
    BenchGemm(r, "data", l.batch, l.in, l.out, false, false);
    BenchGemm(r, "weights", l.out, l.in, l.batch, true, false);
  }
  BenchGemm(r, "square", 1024, 1024, 1024, false, false);
  BenchGemm(r, "vector", 1, 512, 784, false, true);
}

void BenchConvPool(const Routines& r, const char* what, int64_t n, int64_t c, int64_t size, int64_t oc, int64_t kernel,
                   int64_t pad, int64_t pool, bool nchw_input, bool want_dx, int64_t stride = 1) {
  tenon::cpu::ConvPoolShape s;
  s.n = n, s.c = c, s.h = s.w = size, s.oc = oc, s.kh = s.kw = kernel, s.relu = true;
  s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = pad;
  s.pool_h = s.pool_w = s.pool_stride_h = s.pool_stride_w = pool;
  s.stride_h = s.stride_w = stride;
  const int64_t in = n * c * size * size, pooled = n * oc * s.PooledH() * s.PooledW();
  Floats x(in), w(oc * c * kernel * kernel), b(oc), y(pooled), dy(pooled), dx(in), dw(oc * c * kernel * kernel), db(oc);
  std::vector<uint8_t> winners(static_cast<size_t>(pooled));
  tenon::cpu::ConvPoolForwardArgs f;
  f.shape = s, f.x = x.p, f.weights = w.p, f.bias = b.p, f.y = y.p, f.winners = pool > 1 ? winners.data() : nullptr;
  f.x_strides = nchw_input ? tenon::cpu::NchwStrides(c, size, size) : tenon::cpu::NhwcStrides(c, size, size);
  f.y_strides = tenon::cpu::NhwcStrides(oc, s.PooledH(), s.PooledW());
  Floats fs(r.conv_pool_forward_workspace(f, 1) / 4 + 16);
  const double flop =
      2.0 * static_cast<double>(n * s.ConvH() * s.ConvW() * oc) * static_cast<double>(c * kernel * kernel);
  Report(std::string("conv+pool forward ") + what, flop, [&] { r.conv_pool_forward(f, fs.p, {}); });
  tenon::cpu::ConvPoolBackwardArgs g;
  g.shape = s, g.x = x.p, g.x_strides = f.x_strides, g.weights = w.p, g.dy = dy.p, g.dy_strides = f.y_strides;
  g.y = y.p, g.y_strides = f.y_strides, g.winners = f.winners;
  g.dw = dw.p, g.db = db.p, g.dx_strides = f.x_strides;
  const double back = flop / static_cast<double>(pool * pool);
  Floats gs(r.conv_pool_backward_workspace(g, 1) / 4 + 16);
  Report(std::string("conv+pool weights ") + what, back, [&] { r.conv_pool_backward(g, gs.p, {}); });
  if (!want_dx) return;
  g.dw = g.db = nullptr, g.dx = dx.p;
  Floats ds(r.conv_pool_backward_workspace(g, 1) / 4 + 16);
  Report(std::string("conv+pool data ") + what, back, [&] { r.conv_pool_backward(g, ds.p, {}); });
}

void BenchConvPools(const Routines& r) {
  BenchConvPool(r, "b32 1->6 28x28 5x5 pad 2", 32, 1, 28, 6, 5, 2, 2, true, false);
  BenchConvPool(r, "b32 6->16 14x14 5x5", 32, 6, 14, 16, 5, 0, 2, false, true);
  BenchConvPool(r, "b32 3->32 32x32 3x3 pad 1", 32, 3, 32, 32, 3, 1, 2, true, false);
  BenchConvPool(r, "b32 16->32 16x16 3x3 pad 1", 32, 16, 16, 32, 3, 1, 2, false, true);
  BenchConvPool(r, "(no pool) b32 16->32 14x14 3x3", 32, 16, 14, 32, 3, 1, 1, false, true);
  BenchConvPool(r, "(no pool) b32 64->64 16x16 3x3", 32, 64, 16, 64, 3, 1, 1, false, true);
  BenchConvPool(r, "(no pool) b32 128->128 8x8 3x3", 32, 128, 8, 128, 3, 1, 1, false, true);
  BenchConvPool(r, "(no pool) b32 64->64 16x16 1x1", 32, 64, 16, 64, 1, 0, 1, false, true);
  BenchConvPool(r, "(no pool) b32 32->64 16x16 3x3 /2", 32, 32, 16, 64, 3, 1, 1, false, true, 2);
}

// Counted as the direct sum's operations.
template <class T>
void BenchWinograd(const tenon::cpu::RoutinesOf<T>& r, const char* type, int64_t n, int64_t c, int64_t size,
                   int edge = 2) {
  const tenon::cpu::WinogradShape s{n, c, size, size, c, 1, 1, 1, 1};
  std::vector<T> x(static_cast<size_t>(n * c * size * size)), w(static_cast<size_t>(c * c * 9)), y(x.size());
  tenon::cpu::WinogradForwardArgsOf<T> f;
  f.shape = s, f.edge = edge, f.x = x.data(), f.weights = w.data(), f.y = y.data();
  Floats forward_space(r.winograd_forward_workspace(f, 1) / 4 + 16);
  const std::string what = "b" + std::to_string(n) + " " + std::to_string(c) + " channels " + std::to_string(size) +
                           "x" + std::to_string(size) + type;
  const double flop = 18.0 * static_cast<double>(n * size * size) * static_cast<double>(c * c);
  Report("winograd forward " + what, flop, [&] { r.winograd_forward(f, forward_space.p, {}); });
  f.turned = true;
  Report("winograd data " + what, flop, [&] { r.winograd_forward(f, forward_space.p, {}); });
  tenon::cpu::WinogradWeightsArgsOf<T> g;
  g.shape = s, g.edge = edge, g.x = x.data(), g.dy = y.data(), g.dw = w.data();
  Floats weights_space(r.winograd_weights_workspace(g, 1) / 4 + 16);
  Report("winograd weights " + what, flop, [&] { r.winograd_weights(g, weights_space.p, {}); });
}

void BenchWinograds(const Routines& r) {
  for (const auto& [channels, size] : {std::pair{64, 32}, {128, 16}, {256, 8}, {512, 4}}) {
    BenchWinograd(r.f32, "", 32, channels, size);
    BenchWinograd(r.f32, " tiles of 4x4", 32, channels, size, 4);
    BenchWinograd(r.bf16, " bf16", 32, channels, size);
  }
}

#if TENON_HAVE_ONEDNN
// The library on the same operands, converting the weights in each call as the plugin's kernels do.
void BenchLibrary(const std::string& what, double flop, const tenon::cpu::ConvPoolShape& s,
                  tenon::cpu::onednn::Direction direction, const std::vector<uint16_t>& x,
                  const std::vector<uint16_t>& w, const std::vector<uint16_t>& y) {
  namespace onednn = tenon::cpu::onednn;
  onednn::ConvProblem p;
  p.direction = direction;
  p.x_type = p.weights_type = p.y_type = dnnl_bf16;
  p.x = {s.n, s.c, s.h, s.w}, p.weights = {s.oc, s.c, s.kh, s.kw}, p.y = {s.n, s.oc, s.ConvH(), s.ConvW()};
  p.x_strides = onednn::ChannelLastStrides(p.x), p.y_strides = onednn::ChannelLastStrides(p.y);
  p.strides = {s.stride_h, s.stride_w}, p.dilations = {s.dilation_h, s.dilation_w};
  p.pads_begin = {s.pad_top, s.pad_left}, p.pads_end = {s.pad_bottom, s.pad_right};
  const onednn::Convolution convolution(onednn::Library::Get("avx512"), p, 1);
  Floats space(static_cast<int64_t>(convolution.workspace_bytes()) / 4 + 16);
  onednn::Convolution::Operands operands;
  operands.x = const_cast<uint16_t*>(x.data()), operands.weights = const_cast<uint16_t*>(w.data());
  operands.y = const_cast<uint16_t*>(y.data());
  Report("  oneDNN " + what, flop, [&] { convolution.Execute(operands, space.p); });
}
#endif

struct ConvCase {
  int64_t n, c, size, oc, window, stride = 1, dilation = 1;
};

// All three directions of a convolution of bf16 with the output as large as the steps allow, beside the library's.
void BenchConvBf16(const Routines& r, const ConvCase& l) {
  const tenon::cpu::Bf16Routines* bf16 = tenon::cpu::FindBf16Routines();
  if (bf16 == nullptr || r.lanes != 16) return;
  tenon::cpu::ConvPoolShape s;
  s.n = l.n, s.c = l.c, s.h = s.w = l.size, s.oc = l.oc, s.kh = s.kw = l.window, s.stride_h = s.stride_w = l.stride;
  s.dilation_h = s.dilation_w = l.dilation;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = l.window / 2 * l.dilation;
  const auto numbers = [](int64_t count) { return std::vector<uint16_t>(static_cast<size_t>(count), 0x3f80); };
  std::vector<uint16_t> x = numbers(s.n * s.c * s.h * s.w), w = numbers(s.oc * s.c * s.kh * s.kw),
                        y = numbers(s.n * s.oc * s.ConvH() * s.ConvW());
  char shape[96];
  std::snprintf(shape, sizeof shape, "%ld->%ld %ldx%ld %ldx%ld /%ld :%ld b%ld", static_cast<long>(l.c),
                static_cast<long>(l.oc), static_cast<long>(l.size), static_cast<long>(l.size),
                static_cast<long>(l.window), static_cast<long>(l.window), static_cast<long>(l.stride),
                static_cast<long>(l.dilation), static_cast<long>(l.n));
  const double flop = 2.0 * static_cast<double>(y.size()) * static_cast<double>(s.c * s.kh * s.kw);
  const auto bench = [&](const char* direction, int64_t workspace, const std::function<void(float*)>& run) {
    Floats space(workspace / 4 + 16);
    const std::string name = std::string("conv bf16 ") + direction + " " + shape;
    Report(name, flop, [&] { run(space.p); });
#if TENON_HAVE_ONEDNN
    using tenon::cpu::onednn::Direction;
    const double before = g_total_us;
    BenchLibrary(name, flop, s,
                 *direction == 'f'   ? Direction::kForward
                 : *direction == 'd' ? Direction::kData
                                     : Direction::kWeights,
                 x, w, y);
    g_total_us = before;
#endif
  };
  tenon::cpu::ConvBf16ForwardArgs f;
  f.shape = s, f.x = x.data(), f.weights = w.data(), f.y = y.data();
  bench("forward", bf16->conv_forward_workspace(f, 1), [&](float* space) { bf16->conv_forward(f, space, {}); });
  tenon::cpu::ConvBf16DataArgs d;
  d.shape = s, d.dy = y.data(), d.weights = w.data(), d.dx = x.data();
  bench("data", bf16->conv_data_workspace(d, 1), [&](float* space) { bf16->conv_data(d, space, {}); });
  tenon::cpu::ConvBf16WeightsArgs g;
  g.shape = s, g.x = x.data(), g.dy = y.data(), g.dw = w.data();
  bench("weights", bf16->conv_weights_workspace(g, 1), [&](float* space) { bf16->conv_weights(g, space, {}); });
}

// Of ResNet-18 and what else Winograd does not take.
constexpr ConvCase kConvCases[] = {
    {32, 3, 32, 64, 3},        {32, 64, 32, 128, 3, 2},  {32, 128, 16, 256, 3, 2}, {32, 256, 8, 512, 3, 2},
    {32, 64, 32, 128, 1, 2},   {32, 128, 16, 256, 1, 2}, {32, 256, 8, 512, 1, 2},  {32, 64, 32, 256, 1},
    {32, 256, 32, 64, 1},      {16, 96, 16, 24, 1},      {16, 24, 16, 144, 1},     {32, 64, 16, 64, 5},
    {32, 64, 16, 64, 3, 1, 2}, {32, 8, 32, 8, 3},        {32, 6, 14, 16, 5},       {32, 16, 32, 32, 3, 2},
    {1, 512, 4, 512, 3},       {8, 3, 112, 64, 7, 2},    {8, 128, 16, 192, 3},     {16, 32, 16, 64, 3, 2}};

// Fused multiply-adds on registers alone: what the processor gives at this moment.
__attribute__((target("avx2,fma"), noinline)) void FusedMultiplyAdds(int rounds) {
  typedef float V __attribute__((vector_size(32)));
  V x[12] = {}, a = V{} + 1.0001f, b = V{} + 1e-6f;
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) asm volatile("vfmadd213ps %2, %1, %0" : "+x"(x[j]) : "x"(a), "x"(b));
  }
}

void Peak() {
  const int rounds = 200000;
  const double seconds = BestSeconds([] { FusedMultiplyAdds(rounds); });
  std::printf("%-44s %9s     %7.1f GFLOP/s\n", "peak, avx2", "", 12.0 * 16 * rounds / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  std::string isa;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--isa") == 0) isa = argv[i + 1];
    if (std::strcmp(argv[i], "--filter") == 0) g_filter = argv[i + 1];
    if (std::strcmp(argv[i], "--seconds") == 0) g_seconds = std::atof(argv[i + 1]);
  }
  const Routines* r = tenon::cpu::FindRoutines(isa);
  if (r == nullptr) {
    std::fprintf(stderr, "cpu_kernels: this processor has no '%s'\n", isa.c_str());
    return 2;
  }
#if TENON_HAVE_ONEDNN
  omp_set_num_threads(1);
#endif
  std::printf("instruction set %s, one thread, best of many\n", r->isa);
  if (tenon::cpu::FindRoutines("avx2") != nullptr) Peak();
  BenchGemms(*r);
  BenchSplits(*r);
  for (const auto& [batch, in, out] : std::vector<std::array<int64_t, 3>>{
           {128, 784, 512}, {128, 512, 512}, {2048, 256, 768}, {2048, 256, 256}, {2048, 256, 1024}, {2048, 1024, 256}})
    BenchBf16(*r, batch, in, out);
  BenchInt8(*r);
  BenchConvPools(*r);
  BenchWinograds(*r);
  for (const ConvCase& l : kConvCases) BenchConvBf16(*r, l);
  std::printf("sum %.1f us\n", g_total_us);
  return 0;
}

// Routines over bf16 give what those over float give for the same numbers, rounded once. What float gives is compared with
// double precision in the tests beside this one.
#include "plugins/device_cpu/tests/support.h"

namespace tenon::cpu {
namespace {

// One step of bf16 apart at most: the compiler may contract two copies of one loop differently.
void ExpectRounded(const Array<Bf16>& got, const Array<float>& want, const std::string& what) {
  const Array<float> wide = Widened(got), rounded = Widened(Rounded(want));
  for (int64_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) || std::isinf(rounded[i])) {
      ASSERT_EQ(std::isnan(wide[i]), std::isnan(want[i])) << what << " " << i;
      if (!std::isnan(want[i])) {
        ASSERT_EQ(wide[i], rounded[i]) << what << " " << i;
      }
      continue;
    }
    ASSERT_NEAR(wide[i], rounded[i], 0x1p-7f * std::abs(rounded[i])) << what << " " << i;
  }
}

// Random numbers that bf16 holds, with NaN, infinities and zeros of both signs among them if `special`.
struct Numbers {
  Array<Bf16> narrow;
  Array<float> wide;
};
Numbers Make(int64_t count, unsigned seed, bool special = false, float low = -2, float high = 2) {
  Array<float> x = Random(count, seed, low, high);
  const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
  for (int64_t i = 0; special && i < count; i += 7) x[i] = odd[i / 7 % 5];
  Array<Bf16> narrow = Rounded(x);
  Array<float> wide = Widened(narrow);
  return {std::move(narrow), std::move(wide)};
}

constexpr int64_t kCounts[] = {1, 3, 4, 15, 16, 17, 31, 203};

TEST(Bf16, ElementsOfOneOperand) {
  for (const Routines* r : AllRoutines())
    for (const int64_t count : kCounts)
      for (const UnaryOp op : {UnaryOp::kRelu, UnaryOp::kSigmoid, UnaryOp::kTanh, UnaryOp::kExp, UnaryOp::kAbs}) {
        const Numbers x = Make(count, 1, true);
        Array<Bf16> y(count);
        Array<float> want(count);
        r->bf16.unary({op, count, 0, 0, x.narrow.get(), y.get()}, Threads(2));
        r->f32.unary({op, count, 0, 0, x.wide.get(), want.get()}, Threads(2));
        ExpectRounded(y, want, std::string(r->isa) + " unary");
      }
}

TEST(Bf16, RoundsToNearestEven) {
  const Array<float> a = Widened(Rounded(Random(4096, 1))), b = Widened(Rounded(Random(4096, 2, 1, 3)));
  Array<float> products(4096);
  for (int64_t i = 0; i < 4096; ++i) products[i] = a[i] * b[i];  // exact: 8 bits times 8 bits
  const Array<Bf16> x = Rounded(a), y = Rounded(b), want = Rounded(products);
  for (const Routines* r : AllRoutines()) {
    Array<Bf16> got(4096);
    BinaryArgsOf<Bf16> p;
    p.op = BinaryOp::kMul, p.rank = 1, p.dims[0] = 4096, p.a_strides[0] = p.b_strides[0] = 1;
    p.a = x.get(), p.b = y.get(), p.out = got.get();
    r->bf16.binary(p, Threads(2));
    for (int64_t i = 0; i < 4096; ++i) ASSERT_EQ(got[i].bits, want[i].bits) << r->isa << " " << products[i];
  }
}

TEST(Bf16, ElementsOfTwoOperands) {
  for (const Routines* r : AllRoutines())
    for (const int64_t inner : kCounts)
      for (const BinaryOp op : {BinaryOp::kAdd, BinaryOp::kDiv, BinaryOp::kMax, BinaryOp::kReluGrad})
        for (int form = 0; form < 3; ++form) {  // equal shapes, a row, a number for each row
          const int64_t rows = 5, count = rows * inner;
          const Numbers a = Make(count, 1, true), b = Make(count, 2, true);
          Array<Bf16> y(count);
          Array<float> want(count);
          const auto run = [&](auto& routines, auto args, auto* x, auto* z, auto* out) {
            args.op = op, args.rank = 2, args.dims[0] = rows, args.dims[1] = inner;
            args.a_strides[0] = inner, args.a_strides[1] = 1;
            args.b_strides[0] = form == 0 ? inner : form == 1 ? 0 : 1, args.b_strides[1] = form == 2 ? 0 : 1;
            args.a = x, args.b = z, args.out = out;
            routines.binary(args, Threads(2));
          };
          run(r->bf16, BinaryArgsOf<Bf16>{}, a.narrow.get(), b.narrow.get(), y.get());
          run(r->f32, BinaryArgs{}, a.wide.get(), b.wide.get(), want.get());
          ExpectRounded(y, want, std::string(r->isa) + " binary");
        }
}

TEST(Bf16, Reductions) {
  const int64_t sizes[][4] = {{1, 7, 19, 1}, {5, 1, 1, 43},   {3, 4, 18, 1},
                              {2, 3, 5, 9},  {1, 5000, 3, 1}, {37, 1, 1, 3}};
  for (const Routines* r : AllRoutines())
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kL2})
      for (const auto& s : sizes)
        for (const bool special : {false, true}) {
          const Numbers x = Make(s[0] * s[1] * s[2] * s[3], 1, special);
          Array<Bf16> y(s[0] * s[2]);
          Array<float> want(s[0] * s[2]);
          r->bf16.reduce({op, s[0], s[1], s[2], s[3], x.narrow.get(), y.get()}, Threads(2));
          r->f32.reduce({op, s[0], s[1], s[2], s[3], x.wide.get(), want.get()}, Threads(2));
          ExpectRounded(y, want, std::string(r->isa) + " reduce");
        }
}

TEST(Bf16, GeluAndItsGradient) {
  for (const Routines* r : AllRoutines())
    for (const bool approximate : {false, true})
      for (const int64_t columns : kCounts) {
        const int64_t rows = 130, count = rows * columns;
        const Numbers x = Make(count, 1, false, -9, 9), dy = Make(count, 2);
        Array<Bf16> y(count), dx(count), sums(columns);
        Array<float> want_y(count), want_dx(count), want_sums(columns);
        r->bf16.gelu({count, approximate, x.narrow.get(), y.get()}, Threads(2));
        r->f32.gelu({count, approximate, x.wide.get(), want_y.get()}, Threads(2));
        GeluGradArgsOf<Bf16> g{rows, columns, approximate, x.narrow.get(), dy.narrow.get(), dx.get(), sums.get()};
        Workspace space(r->bf16.gelu_grad_workspace(g));
        r->bf16.gelu_grad(g, space.get(), Threads(2));
        r->f32.gelu_grad({rows, columns, approximate, x.wide.get(), dy.wide.get(), want_dx.get(), want_sums.get()},
                         space.get(), Threads(2));
        ExpectRounded(y, want_y, std::string(r->isa) + " gelu");
        ExpectRounded(dx, want_dx, std::string(r->isa) + " gelu gradient");
        ExpectRounded(sums, want_sums, std::string(r->isa) + " gelu sums");
      }
}

TEST(Bf16, LayerNormAndItsGradient) {
  for (const Routines* r : AllRoutines())
    for (const int64_t columns : kCounts) {
      if (columns == 1) continue;  // x - mean is zero there, or what the rounding of the mean leaves
      const int64_t rows = 131, count = rows * columns;
      const Numbers x = Make(count, 1), dy = Make(count, 2);
      const auto scale = Random(columns, 4, 0.5f, 1.5f), bias = Random(columns, 5);
      Array<Bf16> y(count), dx(count);
      Array<float> want_y(count), want_dx(count), mean(rows), inv_std(rows), d_scale(columns), d_bias(columns),
          want_scale(columns), want_bias(columns);
      LayerNormArgsOf<Bf16> a;
      a.rows = rows, a.columns = columns, a.x = x.narrow.get(), a.scale = scale.get(), a.bias = bias.get(),
      a.y = y.get();
      r->bf16.layer_norm(a, Threads(2));
      LayerNormArgs w;
      w.rows = rows, w.columns = columns, w.x = x.wide.get(), w.scale = scale.get(), w.bias = bias.get();
      w.y = want_y.get(), w.mean = mean.get(), w.inv_std = inv_std.get();
      r->f32.layer_norm(w, Threads(2));
      LayerNormGradArgsOf<Bf16> g;  // without statistics: it finds them again
      g.rows = rows, g.columns = columns, g.x = x.narrow.get(), g.dy = dy.narrow.get(), g.scale = scale.get();
      g.dx = dx.get(), g.d_scale = d_scale.get(), g.d_bias = d_bias.get();
      Workspace space(r->bf16.layer_norm_grad_workspace(g));
      r->bf16.layer_norm_grad(g, space.get(), Threads(2));
      LayerNormGradArgs h;
      h.rows = rows, h.columns = columns, h.x = x.wide.get(), h.dy = dy.wide.get(), h.scale = scale.get();
      h.mean = mean.get(), h.inv_std = inv_std.get();
      h.dx = want_dx.get(), h.d_scale = want_scale.get(), h.d_bias = want_bias.get();
      r->f32.layer_norm_grad(h, space.get(), Threads(2));
      const std::string name = std::string(r->isa) + " layer norm of " + std::to_string(columns);
      const Array<float> wide_y = Widened(y), wide_dx = Widened(dx);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_NEAR(wide_y[i], want_y[i], 0x1p-8f * std::abs(want_y[i]) + 1e-5f) << name;
        // A row whose numbers are nearly equal has a large 1 / deviation, and the terms of dx cancel.
        ASSERT_NEAR(wide_dx[i], want_dx[i], 0x1p-8f * std::abs(want_dx[i]) + 1e-5f * (1 + inv_std[i / columns]))
            << name;
      }
      for (int64_t c = 0; c < columns; ++c) {
        ASSERT_NEAR(d_scale[c], want_scale[c], 1e-4) << name;
        ASSERT_NEAR(d_bias[c], want_bias[c], 1e-4) << name;
      }
    }
}

TEST(Bf16, BatchNormAndItsGradient) {
  for (const Routines* r : AllRoutines())
    for (const BatchNormShape s : {BatchNormShape{30, 5, 1}, BatchNormShape{64, 80, 1}, BatchNormShape{33, 17, 1},
                                   BatchNormShape{3, 4, 49}, BatchNormShape{2, 3, 8}})
      for (const BatchNormMask mask :
           {BatchNormMask::kNone, BatchNormMask::kAboveZero, BatchNormMask::kInside, BatchNormMask::kOutputAboveZero}) {
        const int64_t count = s.outer * s.channels * s.inner;
        const Numbers x = Make(count, 1), dy = Make(count, 2), z = Make(count, 3);
        const auto scale = Random(s.channels, 4, 0.5f, 2), bias = Random(s.channels, 5);
        const bool add = mask == BatchNormMask::kOutputAboveZero;
        struct Result {
          Array<float> mean, var, inv_std, d_scale, d_bias;
        };
        const auto make = [&] {
          return Result{Array<float>(s.channels), Array<float>(s.channels), Array<float>(s.channels),
                        Array<float>(s.channels), Array<float>(s.channels)};
        };
        Result got = make(), want = make();
        Array<Bf16> y(count), dx(count), dz(count);
        Array<float> want_y(count), want_dx(count), want_dz(count);
        const auto run = [&](auto& routines, auto apply, auto grad, auto* from, auto* d, auto* more, auto* to,
                             auto* to_x, auto* to_z, auto* passed, Result& out) {
          routines.batch_norm_stats({s, from, out.mean.get(), out.var.get()}, Threads(2));
          for (int64_t c = 0; c < s.channels; ++c) out.inv_std[c] = 1 / std::sqrt(out.var[c] + 1e-5f);
          apply.shape = grad.shape = s, apply.x = grad.x = from, grad.dy = d, apply.y = to;
          apply.mean = grad.mean = out.mean.get(), apply.inv_std = grad.inv_std = out.inv_std.get();
          apply.scale = grad.scale = scale.get(), apply.bias = grad.bias = bias.get();
          if (add) apply.residual = more;
          apply.limits = {mask != BatchNormMask::kNone, mask == BatchNormMask::kInside ? -0.5f : 0.0f,
                          mask == BatchNormMask::kInside ? 0.75f : INFINITY};
          grad.limits = apply.limits, grad.mask = mask, grad.y = passed;
          routines.batch_norm_apply(apply, Threads(2));
          grad.dx = to_x, grad.d_residual = to_z, grad.d_scale = out.d_scale.get(), grad.d_bias = out.d_bias.get();
          routines.batch_norm_grad(grad, Threads(2));
        };
        run(r->bf16, BatchNormApplyArgsOf<Bf16>{}, BatchNormGradArgsOf<Bf16>{}, x.narrow.get(), dy.narrow.get(),
            z.narrow.get(), y.get(), dx.get(), dz.get(), y.get(), got);
        run(r->f32, BatchNormApplyArgs{}, BatchNormGradArgs{}, x.wide.get(), dy.wide.get(), z.wide.get(), want_y.get(),
            want_dx.get(), want_dz.get(), want_y.get(), want);
        const std::string name = std::string(r->isa) + " batch norm of " + std::to_string(s.channels);
        const Array<float> wide_y = Widened(y), wide_dx = Widened(dx), wide_dz = Widened(dz);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_NEAR(wide_y[i], want_y[i], 0x1p-8f * std::abs(want_y[i]) + 1e-6f) << name;
          ASSERT_NEAR(wide_dx[i], want_dx[i], 0x1p-8f * std::abs(want_dx[i]) + 1e-5f) << name;
          ASSERT_EQ(wide_dz[i], want_dz[i]) << name;
        }
        for (int64_t c = 0; c < s.channels; ++c) {
          ASSERT_NEAR(got.mean[c], want.mean[c], 1e-6) << name;
          ASSERT_NEAR(got.d_scale[c], want.d_scale[c], 1e-4) << name;
          ASSERT_NEAR(got.d_bias[c], want.d_bias[c], 1e-4) << name;
        }
      }
}

}  // namespace
}  // namespace tenon::cpu

// Gemm(A, B, C) = alpha * A' B' + beta * C, matrices; A' is A or its transpose (transA), B' likewise; C broadcasts to
// [M, N]. ONNX Gemm, since opset 7.
#include "core/ops/flops.h"
#include "core/ops/matrix_product.h"

namespace tenon {
namespace {

constexpr TypeSet kTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status Infer(InferContext& context) {
  const SymShape &a = context.shape(0), &b = context.shape(1);
  TENON_INVALID_IF(a.rank() != 2 || b.rank() != 2, "Gemm multiplies matrices; A has shape {} and B has shape {}.", a,
                   b);
  const int ta = context.attrs().Int("transA") != 0 ? 1 : 0, tb = context.attrs().Int("transB") != 0 ? 1 : 0;
  const Dim inner_a = a[1 - ta], inner_b = b[tb];
  TENON_INVALID_IF(!(inner_a == inner_b), "Inner dimension of A ({}) is not equal to that of B ({}): {}{} x {}{}.",
                   inner_a, inner_b, a, ta != 0 ? " transposed" : "", b, tb != 0 ? " transposed" : "");
  const SymShape out{a[ta], b[1 - tb]};
  if (context.has_input(2)) {
    const auto sum = Broadcast(out, context.shape(2));
    TENON_INVALID_IF(!sum.ok() || !(*sum == out), "Gemm C has shape {}; it must broadcast to the product's shape {}.",
                     context.shape(2), out);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  Tensor& y = args.outputs[0];
  const bool ta = args.attrs.Int("transA") != 0, tb = args.attrs.Int("transB") != 0;
  const double alpha = args.attrs.Float("alpha"), beta = args.attrs.Float("beta");
  const std::int64_t rows = y.shape()[0], columns = y.shape()[1], inner = a.shape()[ta ? 0 : 1];
  ForNumeric(a.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T* c = args.has(2) ? args.inputs[2].data<T>() : nullptr;
    const auto at = c ? BroadcastStrides(args.inputs[2].shape(), y.shape()) : std::array<std::int64_t, kMaxRank>{};
    const MatrixView<T> left{a.data<T>(), ta ? 1 : inner, ta ? rows : 1};
    const MatrixView<T> right{b.data<T>(), tb ? 1 : columns, tb ? inner : 1};
    MatrixProduct(left, right, rows, inner, columns, [&](std::int64_t r, std::int64_t k, A sum) {
      A value = alpha == 1 ? sum : static_cast<A>(static_cast<A>(alpha) * sum);
      if (c != nullptr) {
        const A addend = static_cast<A>(c[r * at[0] + k * at[1]]);
        value = Combine(value, beta == 1 ? addend : static_cast<A>(static_cast<A>(beta) * addend),
                        [](auto x, auto z) { return x + z; });
      }
      y.data<T>()[r * columns + k] = static_cast<T>(value);
    });
  });
  return {};
}

// With G = dY: dA' = alpha G B'^T, dB' = alpha A'^T G, dC = beta G summed over what was broadcast.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value dy = args.output_grads[0], lhs = args.inputs[0], rhs = args.inputs[1];
  const std::int64_t ta = args.attrs.Int("transA"), tb = args.attrs.Int("transB");
  const double alpha = args.attrs.Float("alpha"), beta = args.attrs.Float("beta");
  const auto product = [&](Value x, Value y, std::int64_t tx, std::int64_t ty) {
    return b.Op("Gemm", {x, y}, {{"alpha", alpha}, {"transA", tx}, {"transB", ty}});
  };
  if (args.wants(0)) args.input_grads[0] = ta != 0 ? product(rhs, dy, tb, 1) : product(dy, rhs, 0, 1 - tb);
  if (args.wants(1)) args.input_grads[1] = tb != 0 ? product(dy, lhs, 1, ta) : product(lhs, dy, 1 - ta, 0);
  if (args.wants(2)) {
    const Value dc = b.SumToShape(dy, b.type(args.inputs[2]).shape);
    args.input_grads[2] = beta == 1 ? dc : b.Mul(dc, b.ScalarLike(dc, beta));
  }
  return {};
}

}  // namespace

void DefineOp_gemm(OpRegistry& ops) {
  ops.Define("Gemm")
      .Flops(ProductFlops)
      .InLowPrecision(LowPrecision::kGains)
      .Since(7)
      .Input("A", kTypes)
      .Input("B", kTypes)
      .OptionalInput("C", kTypes)
      .Output("Y")
      .Attr("alpha", 1.0)
      .Attr("beta", 1.0)
      .Attr("transA", 0)
      .Attr("transB", 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

// MatMul(A, B): the matrix product of numpy.matmul. Leading dims broadcast as batches; a vector is a row on the left, a
// column on the right, and its dimension vanishes. ONNX MatMul, since opset 1.
#include "core/ops/flops.h"
#include "core/ops/matrix_product.h"

namespace tenon {
namespace {

constexpr TypeSet kTypes = kFloatingTypes | TypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64};

Status Infer(InferContext& context) {
  TENON_ASSIGN(const SymShape out, ProductShape(context.shape(0), context.shape(1)));
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const auto stacks, StacksOf(args.inputs[0].shape(), args.inputs[1].shape()));
  const int rank = stacks.product.rank();
  const std::int64_t rows = stacks.product[rank - 2], columns = stacks.product[rank - 1];
  const std::int64_t inner = stacks.a[stacks.a.rank() - 1];
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    const T *a = args.inputs[0].data<T>(), *b = args.inputs[1].data<T>();
    T* y = args.outputs[0].data<T>();
    ForEachBroadcast(BatchOf(stacks.product), BatchOf(stacks.a), BatchOf(stacks.b),
                     [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
                       const MatrixView<T> left{a + ia * rows * inner, inner, 1};
                       const MatrixView<T> right{b + ib * inner * columns, columns, 1};
                       MatrixProduct(left, right, rows, inner, columns,
                                     [&](std::int64_t r, std::int64_t c, Accumulator<T> sum) {
                                       y[(i * rows + r) * columns + c] = static_cast<T>(sum);
                                     });
                     });
  });
  return {};
}

Value SwapLastTwo(GradBuilder& b, Value value) {
  std::vector<std::int64_t> perm;
  const int rank = b.type(value).shape.rank();
  for (int axis = 0; axis < rank; ++axis) perm.push_back(axis);
  std::swap(perm[static_cast<std::size_t>(rank - 2)], perm[static_cast<std::size_t>(rank - 1)]);
  return b.Op("Transpose", {value}, {{"perm", perm}});
}

Value InShape(GradBuilder& b, Value value, const Shape& shape) {
  return b.type(value).shape == SymShape(shape) ? value : b.ReshapeTo(value, shape);
}

Shape AsMatrix(const Shape& stack) {
  const std::int64_t columns = stack[stack.rank() - 1];
  std::int64_t rows = 1;
  for (int axis = 0; axis < stack.rank() - 1; ++axis) rows *= stack[axis];
  return Shape{rows, columns};
}

// dA = dY B^T, dB = A^T dY, summed over broadcast batches. Where B is one matrix for all batches (every linear layer),
// both are single matrix products over the rows of all batches.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Shape a_shape = b.type(args.inputs[0]).shape.Concrete(), b_shape = b.type(args.inputs[1]).shape.Concrete();
  TENON_ASSIGN(const auto stacks, StacksOf(a_shape, b_shape));
  const Value dy = InShape(b, args.output_grads[0], stacks.product);
  const Value rhs = InShape(b, args.inputs[1], stacks.b);
  if (stacks.b.rank() == 2) {
    const Value rows = InShape(b, dy, AsMatrix(stacks.product));
    if (args.wants(0))
      args.input_grads[0] = InShape(b, b.Op("Gemm", {rows, rhs}, {{"transB", std::int64_t{1}}}), a_shape);
    if (args.wants(1)) {
      const Value lhs = InShape(b, args.inputs[0], AsMatrix(stacks.a));
      args.input_grads[1] = InShape(b, b.Op("Gemm", {lhs, rows}, {{"transA", std::int64_t{1}}}), b_shape);
    }
    return {};
  }
  if (args.wants(0)) {
    const Value da = b.Op("MatMul", {dy, SwapLastTwo(b, rhs)});
    args.input_grads[0] = InShape(b, b.SumToShape(da, stacks.a), a_shape);
  }
  if (args.wants(1)) {
    const Value lhs = InShape(b, args.inputs[0], stacks.a);
    const Value db = b.Op("MatMul", {SwapLastTwo(b, lhs), dy});
    args.input_grads[1] = InShape(b, b.SumToShape(db, stacks.b), b_shape);
  }
  return {};
}

}  // namespace

void DefineOp_mat_mul(OpRegistry& ops) {
  ops.Define("MatMul")
      .Flops(ProductFlops)
      .InLowPrecision(LowPrecision::kGains)
      .Input("A", kTypes)
      .Input("B", kTypes)
      .Output("Y")
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

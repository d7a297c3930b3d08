// Trilu(X, k = 0; upper = 1): X with zeros below (upper) or above (lower) the k-th diagonal of its last two axes; k above 0
// is a diagonal further up. ONNX Trilu, since opset 14.
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_INVALID_IF(context.shape(0).rank() < 2, "Trilu needs a matrix or a stack of them; the input has shape {}.",
                   context.shape(0));
  if (context.has_input(1)) {
    TENON_INVALID_IF(!context.shape(1).Elements().Is(1), "Trilu k is one number; it has shape {}.", context.shape(1));
  }
  return InferSameAsFirst(context);
}

Status Reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const bool upper = args.attrs.Int("upper") != 0;
  const std::int64_t k = args.has(1) ? *args.inputs[1].data<std::int64_t>() : 0;
  const std::int64_t rows = x.shape()[x.shape().rank() - 2], columns = x.shape()[x.shape().rank() - 1];
  const std::int64_t matrices = rows * columns == 0 ? 0 : x.elements() / (rows * columns);
  ForAny(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = args.outputs[0].data<T>();
    for (std::int64_t m = 0; m < matrices; ++m) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column, ++from, ++to) {
          const bool kept = upper ? column - row >= k : column - row <= k;
          *to = kept ? *from : T(0);
        }
      }
    }
  });
  return {};
}

// The same triangle of dY.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value k = args.inputs.size() > 1 ? args.inputs[1] : Value{};
  if (args.wants(0))
    args.input_grads[0] = b.Op("Trilu", {args.output_grads[0], k}, {{"upper", args.attrs.Int("upper")}});
  return {};
}

}  // namespace

void DefineOp_trilu(OpRegistry& ops) {
  ops.Define("Trilu")
      .Since(14)
      .Input("input", kAllTypes)
      .OptionalInput("k", {DType::kI64}, "k")
      .Output("output")
      .Attr("upper", 1)
      .InPlace(0, 0)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

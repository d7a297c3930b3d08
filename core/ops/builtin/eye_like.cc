// EyeLike(X; dtype, k = 0): a matrix of the shape of X with ones on the k-th diagonal (k above 0: further up) and zeros
// elsewhere, in the dtype of X or the one with ONNX's number `dtype`. ONNX EyeLike, since opset 9.
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_INVALID_IF(context.shape(0).rank() != 2, "EyeLike needs a matrix; the input has shape {}.", context.shape(0));
  const std::int64_t number = context.attrs().Int("dtype", static_cast<std::int64_t>(context.dtype(0)));
  TENON_INVALID_IF(number < 0 || number > 63 || !kAllTypes.Has(static_cast<DType>(number)),
                   "EyeLike of dtype number {} is not supported; supported are {}.", number, kAllTypes.ToString());
  context.SetOutput(0, static_cast<DType>(number), context.shape(0));
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& y = args.outputs[0];
  const std::int64_t k = args.attrs.Int("k"), columns = y.shape()[1];
  ForAny(y.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < y.elements(); ++i) y.data<T>()[i] = static_cast<T>(i % columns - i / columns == k);
  });
  return {};
}

}  // namespace

void DefineOp_eye_like(OpRegistry& ops) {
  ops.Define("EyeLike")
      .Since(9)
      .Input("input", kAllTypes, "T1")
      .Output("output")
      .OptionalAttr("dtype", AttrType::kInt)
      .Attr("k", 0)
      .FromShapes()
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

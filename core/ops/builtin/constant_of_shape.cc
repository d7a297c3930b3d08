// ConstantOfShape(shape; value) = a tensor of that shape filled with the one element of `value`; 0 in float32 without it.
// ONNX ConstantOfShape, since opset 9.
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

const Tensor* FillOf(const Attributes& attrs) {
  const AttrValue* value = attrs.Find("value");
  return value == nullptr ? nullptr : &std::get<Tensor>(*value);
}

Status Infer(InferContext& context) {
  const Tensor* fill = FillOf(context.attrs());
  TENON_INVALID_IF(fill != nullptr && fill->elements() != 1,
                   "ConstantOfShape needs one value; the tensor has shape {}.", fill->shape());
  const SymShape& request = context.shape(0);
  TENON_INVALID_IF(request.rank() != 1 || !request[0].known(),
                   "ConstantOfShape needs a list of extents; it has shape {}.", request);
  const DType dtype = fill == nullptr ? DType::kF32 : fill->dtype();
  if (context.constant(0) != nullptr) {
    TENON_ASSIGN(const auto dims, context.ConstantInts(0));
    TENON_ASSIGN(const Shape shape, Shape::Make(dims));
    context.SetOutput(0, dtype, shape);
    return {};
  }
  TENON_INVALID_IF(request[0].value() > kMaxRank, "ConstantOfShape of {} dims: the limit is {}.", request[0], kMaxRank);
  SymShape unknown;
  for (std::int64_t axis = 0; axis < request[0].value(); ++axis) unknown.push_back(Dim::Unknown());
  context.SetOutput(0, dtype, unknown);
  return {};
}

Status Reference(const ReferenceArgs& args) {
  Tensor& y = args.outputs[0];
  const Tensor* fill = FillOf(args.attrs);
  const Tensor value = fill == nullptr ? Tensor::Scalar(0.0f) : *fill;
  const auto size = static_cast<std::size_t>(SizeOf(y.dtype()));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::memcpy(static_cast<char*>(y.raw()) + static_cast<std::size_t>(i) * size, value.raw(), size);
  }
  return {};
}

}  // namespace

void DefineOp_constant_of_shape(OpRegistry& ops) {
  ops.Define("ConstantOfShape")
      .Flops(NoFlops)
      .Since(9)
      .Input("input", {DType::kI64}, "T1")
      .Output("output")
      .OptionalAttr("value", AttrType::kTensor)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

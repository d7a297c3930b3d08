// Constant(; value | value_float | value_floats | value_int | value_ints) = that value: exactly one of them is given. Floats
// are float32, integers int64. ONNX Constant: a tensor since opset 1, the other forms since opset 12 (texts are not).
#include <cstring>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

Tensor Floats(const Shape& shape, std::span<const double> values) {
  return Cast(Tensor::Of<double>(shape, values), DType::kF32);
}

Tensor TensorOf(const AttrValue& value) {
  const auto vector = [](std::size_t count) { return Shape{static_cast<std::int64_t>(count)}; };
  switch (TypeOf(value)) {
    case AttrType::kInt:
      return Tensor::Scalar(std::get<std::int64_t>(value));
    case AttrType::kInts: {
      const auto& ints = std::get<std::vector<std::int64_t>>(value);
      return Tensor::Of<std::int64_t>(vector(ints.size()), std::span<const std::int64_t>(ints));
    }
    case AttrType::kFloat:
      return Floats(Shape{}, std::span<const double>(&std::get<double>(value), 1));
    case AttrType::kFloats: {
      const auto& floats = std::get<std::vector<double>>(value);
      return Floats(vector(floats.size()), floats);
    }
    case AttrType::kTensor:
      return std::get<Tensor>(value);
    case AttrType::kText:
    case AttrType::kTexts:
      break;
  }
  return {};
}

Status Infer(InferContext& context) {
  const auto items = context.attrs().items();
  TENON_INVALID_IF(items.size() != 1, "Constant needs exactly one value; {} are given.", items.size());
  const Tensor value = TensorOf(items[0].second);
  context.SetOutput(0, value.dtype(), value.shape());
  return {};
}

Status Reference(const ReferenceArgs& args) {
  const Tensor value = TensorOf(args.attrs.items()[0].second);
  if (value.bytes() > 0) std::memcpy(args.outputs[0].raw(), value.raw(), static_cast<std::size_t>(value.bytes()));
  return {};
}

}  // namespace

void DefineOp_constant(OpRegistry& ops) {
  ops.Define("Constant")
      .Flops(NoFlops)
      .Output("output")
      .RequiredAttr("value", AttrType::kTensor)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
  ops.Define("Constant")
      .Flops(NoFlops)
      .Since(12)
      .Output("output")
      .OptionalAttr("value", AttrType::kTensor)
      .OptionalAttr("value_float", AttrType::kFloat)
      .OptionalAttr("value_floats", AttrType::kFloats)
      .OptionalAttr("value_int", AttrType::kInt)
      .OptionalAttr("value_ints", AttrType::kInts)
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

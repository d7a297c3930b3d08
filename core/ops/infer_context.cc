#include "core/ops/infer_context.h"

namespace tenon {

std::string ValueType::ToString() const { return fmt::format("{}{}", ShortNameOf(dtype), shape); }

Result<std::vector<std::int64_t>> InferContext::ConstantInts(int i) const {
  const Tensor* tensor = constant(i);
  TENON_INVALID_IF(tensor == nullptr, "Input {} must be a constant: the output shape depends on its values.", i);
  const Tensor ints = Cast(*tensor, DType::kI64);
  const auto values = ints.values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Status InferSameAsFirst(InferContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, context.dtype(0), context.shape(0));
  return {};
}

namespace {

Result<SymShape> BroadcastAll(const InferContext& context) {
  SymShape shape = context.shape(0);
  for (int i = 1; i < context.num_inputs(); ++i) {
    TENON_ASSIGN(shape, Broadcast(shape, context.shape(i)));
  }
  return shape;
}

}  // namespace

Status InferBroadcast(InferContext& context) {
  TENON_ASSIGN(const SymShape shape, BroadcastAll(context));
  context.SetOutput(0, context.dtype(0), shape);
  return {};
}

Status InferBroadcastBool(InferContext& context) {
  TENON_ASSIGN(const SymShape shape, BroadcastAll(context));
  context.SetOutput(0, DType::kBool, shape);
  return {};
}

}  // namespace tenon

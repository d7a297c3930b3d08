#include "core/ops/grad_builder.h"

namespace tenon {

Value GradBuilder::Op(std::string_view type, std::initializer_list<Value> inputs, Attributes attrs) {
  const auto out = Apply("", type, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs), 1);
  return out.empty() ? Value{} : out[0];
}

Value GradBuilder::TenonOp(std::string_view type, std::initializer_list<Value> inputs, Attributes attrs) {
  const auto out = Apply("tenon", type, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs), 1);
  return out.empty() ? Value{} : out[0];
}

Value GradBuilder::ScalarLike(Value like, double value) {
  return Constant(Cast(Tensor::Scalar<double>(value), type(like).dtype));
}

Value GradBuilder::Ints(std::span<const std::int64_t> values) {
  return Constant(Tensor::Of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

Value GradBuilder::SumToShape(Value gradient, const SymShape& target) {
  if (!gradient) return gradient;
  const SymShape shape = type(gradient).shape;
  if (shape == target) return gradient;
  const int lead = shape.rank() - target.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis < lead || (target[axis - lead].Is(1) && !shape[axis].Is(1))) axes.push_back(axis);
  }
  Value sum = gradient;
  if (!axes.empty()) sum = Op("ReduceSum", {gradient, Ints(axes)}, {{"keepdims", std::int64_t{1}}});
  if (lead == 0) return sum;
  return ReshapeTo(sum, target.Concrete());
}

Value GradBuilder::ReshapeTo(Value value, const Shape& shape) {
  // allowzero: a 0 in the target means an empty dimension, not "copy".
  return Op("Reshape", {value, Ints(shape.dims())}, {{"allowzero", std::int64_t{1}}});
}

}  // namespace tenon

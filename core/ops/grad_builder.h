#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/attribute.h"
#include "core/ops/infer_context.h"

namespace tenon {

// Handle of a value inside a gradient computation; a false handle is "absent" (an unused output's gradient, an input
// that needs none).
struct Value {
  std::uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
  bool operator==(const Value&) const = default;
};

// What a gradient function may do: apply operators to values. The autodiff pass implements it by appending nodes to the
// graph, the eager tape by running operators, so one gradient serves both engines and can be differentiated again.
// Shapes of values are known (type()). Errors are kept inside; after a failure handles are false and the caller reports.
class GradBuilder {
 public:
  virtual ~GradBuilder() = default;

  // Applies an operator; `inputs` may hold false handles for absent optional inputs. Returns `outputs` handles.
  virtual std::vector<Value> Apply(std::string_view domain, std::string_view type, std::span<const Value> inputs,
                                   Attributes attrs, int outputs) = 0;
  virtual Value Constant(Tensor tensor) = 0;
  // By value: what a graph holds moves when an operator is applied.
  virtual ValueType type(Value value) const = 0;

  // One-output form. Domain "" is ONNX, "tenon" ours.
  Value Op(std::string_view type, std::initializer_list<Value> inputs, Attributes attrs = {});
  Value TenonOp(std::string_view type, std::initializer_list<Value> inputs, Attributes attrs = {});

  Value Add(Value a, Value b) { return Op("Add", {a, b}); }
  Value Sub(Value a, Value b) { return Op("Sub", {a, b}); }
  Value Mul(Value a, Value b) { return Op("Mul", {a, b}); }
  Value Div(Value a, Value b) { return Op("Div", {a, b}); }
  Value Neg(Value a) { return Op("Neg", {a}); }
  // A scalar constant of the dtype of `like`.
  Value ScalarLike(Value like, double value);
  // Int64 vector constant.
  Value Ints(std::span<const std::int64_t> values);
  // Sums `gradient` over the axes along which a value of shape `target` was broadcast, giving exactly that shape.
  Value SumToShape(Value gradient, const SymShape& target);
  // Reshape to a concrete shape.
  Value ReshapeTo(Value value, const Shape& shape);
};

// One node whose gradient is wanted.
struct GradArgs {
  const Attributes& attrs;
  std::span<const Value> inputs;        // forward inputs (false: absent)
  std::span<const Value> outputs;       // forward outputs (false: not produced)
  std::span<const Value> output_grads;  // false: no gradient flows in (treat as zero)
  const std::vector<bool>& needs;       // per input: its gradient is wanted
  std::span<Value> input_grads;         // to fill where `needs`; leave false for "zero" or "not differentiable"

  bool wants(std::size_t i) const { return i < needs.size() && needs[i]; }
};

}  // namespace tenon

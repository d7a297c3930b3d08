// Range(start, limit, delta) = start, start + delta, start + 2 delta, .. before limit: max(ceil((limit - start) / delta), 0)
// numbers. ONNX Range, since opset 11.
#include <cmath>

#include "core/ops/flops.h"
#include "core/ops/op_def.h"

namespace tenon {
namespace {

constexpr TypeSet kRangeTypes = {DType::kF32, DType::kF64, DType::kI16, DType::kI32, DType::kI64};
constexpr double kMostElements = 4e18;

// |limit - start| / |delta| rounded up; integers do not overflow.
std::int64_t CountInts(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t distance = delta > 0 ? wide(limit) - wide(start) : wide(start) - wide(limit);
  const std::uint64_t step = delta > 0 ? wide(delta) : 0 - wide(delta);
  return static_cast<std::int64_t>((distance - 1) / step + 1);
}

Result<std::int64_t> Count(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (IsInteger(start.dtype())) {
    const auto value = [](const Tensor& tensor) { return *Cast(tensor, DType::kI64).data<std::int64_t>(); };
    TENON_INVALID_IF(value(delta) == 0, "Range from {} to {} has delta 0.", value(start), value(limit));
    return CountInts(value(start), value(limit), value(delta));
  }
  const auto value = [](const Tensor& tensor) { return *Cast(tensor, DType::kF64).data<double>(); };
  const double count = std::ceil((value(limit) - value(start)) / value(delta));
  TENON_INVALID_IF(!(value(delta) != 0 && count < kMostElements), "Range from {} to {} with delta {} has no end.",
                   value(start), value(limit), value(delta));
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Status Infer(InferContext& context) {
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    TENON_INVALID_IF(context.shape(i).rank() != 0, "Range {} is a scalar; it has shape {}.",
                     i == 0   ? "start"
                     : i == 1 ? "limit"
                              : "delta",
                     context.shape(i));
    known = known && context.constant(i) != nullptr;
  }
  Dim extent = Dim::Unknown();
  if (known) {
    TENON_ASSIGN(extent, Count(*context.constant(0), *context.constant(1), *context.constant(2)));
    TENON_ASSIGN(const Shape fits, Shape::Make(std::initializer_list<std::int64_t>{extent.value()}));
    static_cast<void>(fits);
  }
  context.SetOutput(0, context.dtype(0), SymShape{extent});
  return {};
}

Status Reference(const ReferenceArgs& args) {
  ForNumeric(args.inputs[0].dtype(), [&]<class T>() {
    using A = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Accumulator<T>>;  // integers wrap, but in range
    const A start = static_cast<A>(*args.inputs[0].data<T>()), delta = static_cast<A>(*args.inputs[2].data<T>());
    for (std::int64_t i = 0; i < args.outputs[0].elements(); ++i) {
      args.outputs[0].data<T>()[i] = static_cast<T>(start + static_cast<A>(i) * delta);
    }
  });
  return {};
}

}  // namespace

void DefineOp_range(OpRegistry& ops) {
  ops.Define("Range")
      .Flops(NoFlops)
      .Since(11)
      .Input("start", kRangeTypes)
      .Input("limit", kRangeTypes)
      .Input("delta", kRangeTypes)
      .Output("output")
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

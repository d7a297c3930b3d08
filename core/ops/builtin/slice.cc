// Slice(X, starts, ends, axes, steps): along each listed axis the elements start, start + step, .. before end, with ONNX's
// clamping; negative bounds count from the end. ONNX Slice: attributes and step 1 since opset 1, inputs since opset 10.
#include <cstring>

#include "core/ops/broadcast.h"
#include "core/ops/flops.h"
#include "core/ops/slicing.h"

namespace tenon {
namespace {

Status InferFrom(InferContext& context, SliceRequest request) {
  SymShape out = context.shape(0);
  TENON_TRY(CompleteSlice(request, out.rank()));
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const int axis = static_cast<int>(request.axes[i]);
    out.set_dim(axis, SliceCount(out[axis], request.starts[i], request.ends[i], request.steps[i]));
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status InferInputs(InferContext& context) {
  SliceRequest request;
  TENON_ASSIGN(request.starts, context.ConstantInts(1));
  TENON_ASSIGN(request.ends, context.ConstantInts(2));
  if (context.has_input(3)) {
    TENON_ASSIGN(request.axes, context.ConstantInts(3));
  }
  if (context.has_input(4)) {
    TENON_ASSIGN(request.steps, context.ConstantInts(4));
  }
  return InferFrom(context, std::move(request));
}

SliceRequest FromAttributes(const Attributes& attrs) {
  return {attrs.Ints("starts"), attrs.Ints("ends"), attrs.Ints("axes", {}), {}};
}

Status Take(const ReferenceArgs& args, const SliceRequest& request) {
  const Tensor& x = args.inputs[0];
  Tensor& y = args.outputs[0];
  const auto axes = SliceAxes(request, x.shape());
  const auto own = ContiguousStrides(x.shape());
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t first = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.shape().rank()); ++i) {
    first += axes[i].start * own[i];
    strides[i] = axes[i].count > 1 ? axes[i].step * own[i] : 0;
  }
  const std::int64_t size = SizeOf(x.dtype());
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(y.raw());
  ForEachStrided<1>(y.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
    std::memcpy(to + i * size, from + (first + at[0]) * size, static_cast<std::size_t>(size));
  });
  return {};
}

Value SliceGrad(GradBuilder& b, const GradArgs& args, std::initializer_list<Value> bounds) {
  std::vector<Value> inputs{args.output_grads[0]};
  inputs.insert(inputs.end(), bounds.begin(), bounds.end());
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  const auto out = b.Apply("tenon", "SliceGrad", inputs,
                           {{"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}}, 1);
  return out.empty() ? Value{} : out[0];
}

Status Gradient(GradBuilder& b, GradArgs& args) {
  const auto optional = [&](std::size_t i) { return i < args.inputs.size() ? args.inputs[i] : Value{}; };
  if (args.wants(0)) {
    args.input_grads[0] = SliceGrad(b, args, {args.inputs[1], args.inputs[2], optional(3), optional(4)});
  }
  return {};
}

Status GradientFromAttributes(GradBuilder& b, GradArgs& args) {
  SliceRequest request = FromAttributes(args.attrs);
  TENON_TRY(CompleteSlice(request, b.type(args.inputs[0]).shape.rank()));
  if (args.wants(0)) {
    args.input_grads[0] = SliceGrad(b, args, {b.Ints(request.starts), b.Ints(request.ends), b.Ints(request.axes)});
  }
  return {};
}

}  // namespace

void DefineOp_slice(OpRegistry& ops) {
  ops.Define("Slice")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(1)
      .Input("data", kAllTypes)
      .Output("output")
      .RequiredAttr("starts", AttrType::kInts)
      .RequiredAttr("ends", AttrType::kInts)
      .OptionalAttr("axes", AttrType::kInts)
      .Infer([](InferContext& context) { return InferFrom(context, FromAttributes(context.attrs())); })
      .Reference([](const ReferenceArgs& args) -> Status {
        SliceRequest request = FromAttributes(args.attrs);
        TENON_TRY(CompleteSlice(request, args.inputs[0].shape().rank()));
        return Take(args, request);
      })
      .Gradient(GradientFromAttributes);
  ops.Define("Slice")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(10)
      .Input("data", kAllTypes)
      .Input("starts", kIndexTypes, "Tind")
      .Input("ends", kIndexTypes, "Tind")
      .OptionalInput("axes", kIndexTypes, "Tind")
      .OptionalInput("steps", kIndexTypes, "Tind")
      .Output("output")
      .Infer(InferInputs)
      .Reference([](const ReferenceArgs& args) -> Status {
        TENON_ASSIGN(const SliceRequest request, SliceRequestOf(args, 1, args.inputs[0].shape().rank()));
        return Take(args, request);
      })
      .Gradient(Gradient);
}

}  // namespace tenon

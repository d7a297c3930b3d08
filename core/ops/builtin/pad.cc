// Pad(X, pads, constant_value, axes; mode): X with pads[k] elements added before and pads[k + n] after along axis k (removed
// where negative). Added elements are constant_value (mode constant, default 0), mirrored about the border (reflect) or
// the border itself (edge). ONNX Pad: attributes since opset 2, inputs since opset 11 (axes 18). Mode wrap is refused.
#include "core/ops/broadcast.h"
#include "core/ops/flops.h"
#include "core/ops/padding.h"

namespace tenon {
namespace {

Status InferFrom(InferContext& context, const std::vector<std::int64_t>& pads, const std::vector<std::int64_t>& axes) {
  const SymShape& x = context.shape(0);
  TENON_ASSIGN(const PadMode mode, PadModeOf(context.attrs().Text("mode")));
  TENON_ASSIGN(const auto pad, PadAxes(pads, axes, x.rank()));
  SymShape out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const PadAxis& p = pad[static_cast<std::size_t>(axis)];
    const Dim dim = x[axis] + Dim(p.begin + p.end);
    TENON_INVALID_IF(dim.known() && dim.value() < 0, "Pad removes more of axis {} than {} has: {} + {} + {} is {}.",
                     axis, x, x[axis], p.begin, p.end, dim);
    TENON_INVALID_IF(mode != PadMode::kConstant && x[axis].Is(0) && !dim.Is(0),
                     "Pad mode {} needs elements to repeat; axis {} of {} has none.", context.attrs().Text("mode"),
                     axis, x);
    out.push_back(dim);
  }
  context.SetOutput(0, context.dtype(0), out);
  return {};
}

Status InferInputs(InferContext& context) {
  TENON_ASSIGN(const auto pads, context.ConstantInts(1));
  std::vector<std::int64_t> axes;
  if (context.has_input(3)) {
    TENON_ASSIGN(axes, context.ConstantInts(3));
  }
  TENON_INVALID_IF(context.has_input(2) && !(context.shape(2).rank() == 0 || context.shape(2) == SymShape{1}),
                   "Pad constant_value is a scalar; it has shape {}.", context.shape(2));
  return InferFrom(context, pads, axes);
}

template <class T>
void Fill(const Tensor& x, const std::array<PadAxis, kMaxRank>& pad, PadMode mode, T constant, Tensor& y) {
  const auto strides = ContiguousStrides(x.shape());
  std::array<std::int64_t, kMaxRank> index{};
  const int rank = y.shape().rank();
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::int64_t from = 0;
    for (int axis = 0; axis < rank && from >= 0; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t source = PadSource(index[a], pad[a].begin, x.shape()[axis], mode);
      from = source < 0 ? -1 : from + source * strides[a];
    }
    y.data<T>()[i] = from < 0 ? constant : x.data<T>()[from];
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < y.shape()[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

Status FromInputs(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const PadMode mode, PadModeOf(args.attrs.Text("mode")));
  TENON_ASSIGN(const auto pad, PadAxes(IntsOf(args, 1), IntsOf(args, 3), x.shape().rank()));
  ForAny(x.dtype(),
         [&]<class T>() { Fill<T>(x, pad, mode, args.has(2) ? *args.inputs[2].data<T>() : T(0), args.outputs[0]); });
  return {};
}

Status FromAttributes(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  TENON_ASSIGN(const PadMode mode, PadModeOf(args.attrs.Text("mode")));
  TENON_ASSIGN(const auto pad, PadAxes(args.attrs.Ints("pads"), {}, x.shape().rank()));
  const Tensor value = Cast(Tensor::Scalar<double>(args.attrs.Float("value")), x.dtype());
  ForFloating(x.dtype(), [&]<class T>() { Fill<T>(x, pad, mode, *value.data<T>(), args.outputs[0]); });
  return {};
}

// dX = dY added where each element came from.
Status Grad(GradBuilder& b, GradArgs& args, Value pads, Value axes) {
  if (!args.wants(0)) return {};
  const Shape x = b.type(args.inputs[0]).shape.Concrete();
  args.input_grads[0] = b.TenonOp(
      "PadGrad", {args.output_grads[0], pads, axes},
      {{"mode", args.attrs.Text("mode")}, {"x_shape", std::vector<std::int64_t>(x.dims().begin(), x.dims().end())}});
  return {};
}

}  // namespace

void DefineOp_pad(OpRegistry& ops) {
  ops.Define("Pad")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(2)
      .Input("data", kFloatingTypes)
      .Output("output")
      .Attr("mode", "constant")
      .RequiredAttr("pads", AttrType::kInts)
      .Attr("value", 0.0)
      .Infer([](InferContext& context) { return InferFrom(context, context.attrs().Ints("pads"), {}); })
      .Reference(FromAttributes)
      .Gradient([](GradBuilder& b, GradArgs& args) { return Grad(b, args, b.Ints(args.attrs.Ints("pads")), {}); });
  ops.Define("Pad")
      .Flops(NoFlops)
      .InLowPrecision(LowPrecision::kMovesOnly)
      .Since(11)
      .Input("data", kAllTypes)
      .Input("pads", {DType::kI64}, "pads")
      .OptionalInput("constant_value", kAllTypes)
      .OptionalInput("axes", kIndexTypes, "Tind")
      .Output("output")
      .Attr("mode", "constant")
      .Infer(InferInputs)
      .Reference(FromInputs)
      .Gradient([](GradBuilder& b, GradArgs& args) {
        return Grad(b, args, args.inputs[1], args.inputs.size() > 3 ? args.inputs[3] : Value{});
      });
}

}  // namespace tenon

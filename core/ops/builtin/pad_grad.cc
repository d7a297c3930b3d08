// tenon.PadGrad(dY, pads, axes; mode, x_shape) -> dX: every element of dY added to the element of dX that Pad showed there.
#include <vector>

#include "core/ops/broadcast.h"
#include "core/ops/padding.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  TENON_ASSIGN(const Shape x, Shape::Make(context.attrs().Ints("x_shape")));
  TENON_TRY(PadModeOf(context.attrs().Text("mode")));
  TENON_INVALID_IF(context.shape(0).rank() != x.rank(), "dY has shape {}; a padded {} has as many dims.",
                   context.shape(0), x);
  context.SetOutput(0, context.dtype(0), x);
  return {};
}

template <class T>
void Scatter(const Tensor& dy, const std::array<PadAxis, kMaxRank>& pad, PadMode mode, Tensor& dx) {
  using A = Accumulator<T>;
  std::vector<A> sums(static_cast<std::size_t>(dx.elements()), A{0});
  const auto strides = ContiguousStrides(dx.shape());
  std::array<std::int64_t, kMaxRank> index{};
  const int rank = dy.shape().rank();
  for (std::int64_t i = 0; i < dy.elements(); ++i) {
    std::int64_t to = 0;
    for (int axis = 0; axis < rank && to >= 0; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t source = PadSource(index[a], pad[a].begin, dx.shape()[axis], mode);
      to = source < 0 ? -1 : to + source * strides[a];
    }
    if (to >= 0) sums[static_cast<std::size_t>(to)] += static_cast<A>(dy.data<T>()[i]);
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < dy.shape()[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) dx.data<T>()[i] = static_cast<T>(sums[i]);
}

Status Reference(const ReferenceArgs& args) {
  Tensor& dx = args.outputs[0];
  TENON_ASSIGN(const PadMode mode, PadModeOf(args.attrs.Text("mode")));
  TENON_ASSIGN(const auto pad, PadAxes(IntsOf(args, 1), IntsOf(args, 2), dx.shape().rank()));
  ForFloating(dx.dtype(), [&]<class T>() { Scatter<T>(args.inputs[0], pad, mode, dx); });
  return {};
}

// Linear in dY: a gradient U of dX gives dY the same padding of U, with zeros as constant.
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value axes = args.inputs.size() > 2 ? args.inputs[2] : Value{};
  if (args.wants(0)) {
    args.input_grads[0] =
        b.Op("Pad", {args.output_grads[0], args.inputs[1], Value{}, axes}, {{"mode", args.attrs.Text("mode")}});
  }
  return {};
}

}  // namespace

void DefineOp_pad_grad(OpRegistry& ops) {
  ops.DefineTenon("PadGrad")
      .Input("dY", kFloatingTypes)
      .Input("pads", {DType::kI64}, "pads")
      .OptionalInput("axes", kIndexTypes, "Tind")
      .Output("dX")
      .Attr("mode", "constant")
      .RequiredAttr("x_shape", AttrType::kInts)
      .Infer(Infer)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

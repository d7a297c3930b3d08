// tenon.SoftmaxGrad(dY, Y; axis, flattened) = Y * (dY - sum of dY * Y), sums along axis (flattened = 1: over all dims from
// axis on); Y is the output of Softmax.
#include "core/ops/softmax.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  TENON_ASSIGN(const SoftmaxRows rows, SoftmaxRowsOf(args.attrs, args.inputs[0].shape(), IsFlattened(args.attrs)));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    rows.EachPair(args.inputs[0].data<T>(), args.inputs[1].data<T>(), args.outputs[0].data<T>(),
                  [](std::vector<A>& dy, const std::vector<A>& y) {
                    A sum{0};
                    for (std::size_t k = 0; k < y.size(); ++k) sum += dy[k] * y[k];
                    for (std::size_t k = 0; k < y.size(); ++k) dy[k] = y[k] * (dy[k] - sum);
                  });
  });
  return {};
}

// The Jacobian is symmetric, so dY gets SoftmaxGrad(U, Y); Y gets U * (dY - sum dY Y) - dY * sum(U Y).
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0], dy = args.inputs[0], y = args.inputs[1];
  if (args.wants(0)) args.input_grads[0] = b.TenonOp("SoftmaxGrad", {u, y}, args.attrs);
  if (!args.wants(1)) return {};
  TENON_INVALID_IF(IsFlattened(args.attrs), "The second gradient of Softmax is defined for opset 13 and later.");
  const std::int64_t axis = args.attrs.Int("axis");
  const Value first = b.Mul(u, b.Sub(dy, SumAlong(b, b.Mul(dy, y), axis)));
  args.input_grads[1] = b.Sub(first, b.Mul(dy, SumAlong(b, b.Mul(u, y), axis)));
  return {};
}

}  // namespace

void DefineOp_softmax_grad(OpRegistry& ops) {
  ops.DefineTenon("SoftmaxGrad")
      .Input("dY", kFloatingTypes)
      .Input("Y", kFloatingTypes)
      .Output("dX")
      .Attr("axis", -1)
      .Attr("flattened", 0)
      .InPlace(0, 0)
      .InPlace(0, 1)
      .Infer(InferSoftmaxGrad)
      .Reference(Reference)
      .Gradient(Gradient);
}

}  // namespace tenon

// tenon.LogSoftmaxGrad(dY, Y; axis, flattened) = dY - exp(Y) * sum of dY, sums along axis (flattened = 1: over all dims
// from axis on); Y is the output of LogSoftmax.
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
                    for (std::size_t k = 0; k < y.size(); ++k) sum += dy[k];
                    for (std::size_t k = 0; k < y.size(); ++k) dy[k] -= std::exp(y[k]) * sum;
                  });
  });
  return {};
}

// With p = exp(Y): dY gets U - sum(U p), Y gets -U p sum(dY).
Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value u = args.output_grads[0];
  TENON_INVALID_IF(IsFlattened(args.attrs), "The second gradient of LogSoftmax is defined for opset 13 and later.");
  const std::int64_t axis = args.attrs.Int("axis");
  const Value up = b.Mul(u, b.Op("Exp", {args.inputs[1]}));
  if (args.wants(0)) args.input_grads[0] = b.Sub(u, SumAlong(b, up, axis));
  if (args.wants(1)) args.input_grads[1] = b.Neg(b.Mul(up, SumAlong(b, args.inputs[0], axis)));
  return {};
}

}  // namespace

void DefineOp_log_softmax_grad(OpRegistry& ops) {
  ops.DefineTenon("LogSoftmaxGrad")
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

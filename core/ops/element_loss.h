#pragma once

#include "core/ops/elementwise.h"
#include "core/ops/loss_reduction.h"

namespace tenon {

// What losses share that compare predictions with targets of the same shape, element by element: the loss is the elements'
// own (reduction none), their sum, or (mean) their sum over their number, NaN when there are none.

// Inputs 0 and 1 are predictions and targets.
inline Status InferElementLoss(InferContext& context) {
  const SymShape &x = context.shape(0), &t = context.shape(1);
  TENON_INVALID_IF(!(x == t), "predictions have shape {} and targets {}; both must be the same.", x, t);
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  context.SetOutput(0, context.dtype(0), reduction == LossReduction::kNone ? x : SymShape{});
  return {};
}

// Inputs 0 to 2 are dloss, predictions and targets.
inline Status InferElementLossGrad(InferContext& context) {
  const SymShape &dloss = context.shape(0), &x = context.shape(1), &t = context.shape(2);
  TENON_INVALID_IF(!(x == t), "predictions have shape {} and targets {}; both must be the same.", x, t);
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(context.attrs()));
  const SymShape expected = reduction == LossReduction::kNone ? x : SymShape{};
  TENON_INVALID_IF(!(dloss == expected), "dloss has shape {}; the loss has {}.", dloss, expected);
  context.SetOutput(0, context.dtype(1), x);
  return {};
}

// Loss of element i: fn(x, t, i) in the accumulator's type.
template <class T, class Fn>
void SumElementLoss(const ReferenceArgs& args, LossReduction reduction, Fn fn) {
  using A = Accumulator<T>;
  const T *x = args.inputs[0].data<T>(), *t = args.inputs[1].data<T>();
  T* out = args.outputs[0].data<T>();
  const std::int64_t count = args.inputs[0].elements();
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const A loss = fn(static_cast<A>(x[i]), static_cast<A>(t[i]), i);
    if (reduction == LossReduction::kNone) out[i] = static_cast<T>(loss);
    total += static_cast<double>(loss);
  }
  if (reduction == LossReduction::kNone) return;
  if (reduction == LossReduction::kMean) total /= static_cast<double>(count);
  *out = static_cast<T>(static_cast<A>(total));
}

// dX of element i: slope(x, t, i) times the share of dloss that reaches it.
template <class T, class Fn>
void SpreadElementLoss(const ReferenceArgs& args, LossReduction reduction, Fn slope) {
  using A = Accumulator<T>;
  const T *dloss = args.inputs[0].data<T>(), *x = args.inputs[1].data<T>(), *t = args.inputs[2].data<T>();
  T* dx = args.outputs[0].data<T>();
  const std::int64_t count = args.inputs[1].elements();
  const A divisor = reduction == LossReduction::kMean ? static_cast<A>(count) : A{1};
  for (std::int64_t i = 0; i < count; ++i) {
    const A share = static_cast<A>(dloss[reduction == LossReduction::kNone ? i : 0]) / divisor;
    dx[i] = static_cast<T>(share * slope(static_cast<A>(x[i]), static_cast<A>(t[i]), i));
  }
}

// References of losses whose element is a function fn(x, t) alone.
template <class Fn>
Status ElementLoss(const ReferenceArgs& args, Fn fn) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  ForFloating(args.inputs[0].dtype(), [&]<class T>() {
    SumElementLoss<T>(args, reduction, [&](auto x, auto t, std::int64_t) { return fn(x, t); });
  });
  return {};
}
template <class Fn>
Status ElementLossGrad(const ReferenceArgs& args, Fn slope) {
  TENON_ASSIGN(const LossReduction reduction, LossReductionOf(args.attrs));
  ForFloating(args.inputs[1].dtype(), [&]<class T>() {
    SpreadElementLoss<T>(args, reduction, [&](auto x, auto t, std::int64_t) { return slope(x, t); });
  });
  return {};
}

// Gradient of a loss of predictions - targets: `type` gives that by predictions, targets get its negative.
inline Status DifferenceLossGradient(GradBuilder& b, GradArgs& args, std::string_view type) {
  const Value dx = b.TenonOp(type, {args.output_grads[0], args.inputs[0], args.inputs[1]}, args.attrs);
  if (args.wants(0)) args.input_grads[0] = dx;
  if (args.wants(1)) args.input_grads[1] = b.Neg(dx);
  return {};
}

// The signatures that these losses and their gradients have in common.
inline OpDef& DefineElementLoss(OpRegistry& ops, const char* type) {
  return ops.DefineTenon(type)
      .InLowPrecision(LowPrecision::kNever)
      .Input("predictions", kFloatingTypes)
      .Input("targets", kFloatingTypes)
      .Output("loss")
      .Attr("reduction", "mean")
      .Infer(InferElementLoss);
}
inline OpDef& DefineElementLossGrad(OpRegistry& ops, const char* type) {
  return ops.DefineTenon(type)
      .Input("dloss", kFloatingTypes)
      .Input("predictions", kFloatingTypes)
      .Input("targets", kFloatingTypes)
      .Output("dpredictions")
      .Attr("reduction", "mean")
      .InPlace(0, 1)
      .InPlace(0, 2)
      .Infer(InferElementLossGrad);
}

}  // namespace tenon

// tenon.SumOverRanks(X) = the sum of the X of all processes (ranks) of a run; with one process it is X. The reference below is
// that of one process; an executor that has other ranks adds up its result over them. The loss of a run is the sum of what its
// ranks compute, so every rank's X counts in the Y of all: dX = SumOverRanks(dY), with the attribute of_gradient 1 by which an
// executor knows the one from the other.
#include "core/ops/view.h"

namespace tenon {
namespace {

Status Gradient(GradBuilder& b, GradArgs& args) {
  const Value inputs[] = {args.output_grads[0]};
  args.input_grads[0] = b.Apply("tenon", "SumOverRanks", inputs, {{"of_gradient", std::int64_t{1}}}, 1)[0];
  return {};
}

}  // namespace

void DefineOp_sum_over_ranks(OpRegistry& ops) {
  ops.DefineTenon("SumOverRanks")
      .Input("X", {DType::kF32, DType::kF64})
      .Output("Y")
      .Attr("of_gradient", 0)
      .InPlace(0, 0)
      .InLowPrecision(LowPrecision::kLosesDigits)
      .Infer(InferSameAsFirst)
      .Reference(CopyElements)
      .Gradient(Gradient);
}

}  // namespace tenon

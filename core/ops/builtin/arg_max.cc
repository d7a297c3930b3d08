// ArgMax(X; axis = 0, keepdims, select_last_index) -> int64: position of the greatest element along axis, the first of equals;
// NaN counts as the greatest. ONNX ArgMax, since opset 1; select_last_index since opset 12.
#include "core/ops/arg_best.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ArgBest(args, [](auto a, auto b) { return a > b; });
}

}  // namespace

void DefineOp_arg_max(OpRegistry& ops) { DefineArgBest(ops, "ArgMax", Reference); }

}  // namespace tenon

// ArgMin(X; axis = 0, keepdims, select_last_index) -> int64: position of the least element along axis, the first of equals;
// NaN counts as the least. ONNX ArgMin, since opset 1; select_last_index since opset 12.
#include "core/ops/arg_best.h"

namespace tenon {
namespace {

Status Reference(const ReferenceArgs& args) {
  return ArgBest(args, [](auto a, auto b) { return a < b; });
}

}  // namespace

void DefineOp_arg_min(OpRegistry& ops) { DefineArgBest(ops, "ArgMin", Reference); }

}  // namespace tenon

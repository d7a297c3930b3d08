// tenon.AllFinite: is every element of every input finite? Output: bool scalar; true without elements.
#include <algorithm>
#include <cmath>

#include "core/ops/op_def.h"

namespace tenon {
namespace {

Status Infer(InferContext& context) {
  context.SetOutput(0, DType::kBool, SymShape{});
  return {};
}

Status Reference(const ReferenceArgs& args) {
  bool finite = true;
  for (const Tensor& input : args.inputs) {
    ForFloating(input.dtype(), [&]<class T>() {
      const T* x = input.data<T>();
      finite = finite &&
               std::all_of(x, x + input.elements(), [](T value) { return std::isfinite(static_cast<double>(value)); });
    });
  }
  *args.outputs[0].data<bool>() = finite;
  return {};
}

}  // namespace

void DefineOp_all_finite(OpRegistry& ops) {
  ops.DefineTenon("AllFinite")
      .VariadicInput("tensors", kFloatingTypes, "")
      .Output("finite")
      .NoGradient()
      .Infer(Infer)
      .Reference(Reference);
}

}  // namespace tenon

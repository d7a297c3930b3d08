#pragma once

#include <cstring>

#include "core/ops/op_def.h"

namespace tenon {

// Reference of operators whose output holds the elements of input 0 in the same order.
inline Status CopyElements(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  if (x.bytes() > 0 && args.outputs[0].raw() != x.raw()) {
    std::memcpy(args.outputs[0].raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
  }
  return {};
}

// Their gradient: the output's, in the shape of input 0.
inline Status ReshapeBack(GradBuilder& builder, GradArgs& args) {
  if (args.wants(0)) {
    args.input_grads[0] = builder.ReshapeTo(args.output_grads[0], builder.type(args.inputs[0]).shape.Concrete());
  }
  return {};
}

}  // namespace tenon

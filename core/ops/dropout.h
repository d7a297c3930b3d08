#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// Ratio and mode of a Dropout node or its gradient, whose inputs `first` and `first + 1` are ratio and training_mode.
struct DropoutMode {
  bool active = false;  // training with a ratio above 0: elements are dropped
  double ratio = 0.5;
  double scale() const { return active ? 1.0 / (1.0 - ratio) : 1.0; }
};

inline Result<DropoutMode> DropoutModeOf(const ReferenceArgs& args, std::size_t first) {
  DropoutMode mode;
  if (args.has(first)) mode.ratio = *Cast(args.inputs[first], DType::kF64).data<double>();
  const bool training = args.has(first + 1) && *args.inputs[first + 1].data<bool>();
  TENON_INVALID_IF(!(mode.ratio >= 0 && mode.ratio < 1), "Dropout ratio ({}) is outside [0, 1).", mode.ratio);
  mode.active = training && mode.ratio > 0;
  return mode;
}

inline Status CheckDropoutScalars(const InferContext& context, int first) {
  for (int i = first; i < first + 2; ++i) {
    TENON_INVALID_IF(context.has_input(i) && !(context.shape(i).rank() == 0 || context.shape(i) == SymShape{1}),
                     "Dropout {} is a scalar; it has shape {}.", i == first ? "ratio" : "training_mode",
                     context.shape(i));
  }
  return {};
}

}  // namespace tenon

#pragma once

#include "core/ops/op_def.h"

namespace tenon {

// Optimisers update all parameters in one node. Inputs: `scalars` rank-0 tensors, then groups of `count` tensors, in which
// tensor k of every group belongs to parameter k. The groups that are updated come first, parameters before all, then the
// rest with the gradients last; the outputs are the updated groups and are the storages of those inputs.
//
//   SGD                lr       | parameters, momentum buffers (absent when momentum = 0) | gradients
//   Adam, AdamW, Lamb  lr, step | parameters, first moments, second moments               | gradients
struct OptimizerGroups {
  int scalars = 1;
  int updated = 1;  // groups that are written

  std::size_t Input(int group, std::int64_t k, std::int64_t count) const {
    return static_cast<std::size_t>(scalars + group * count + k);
  }
};

// Checks counts, shapes and dtypes and sets the outputs. `names` are those of the groups, in order.
inline Status InferOptimizer(InferContext& context, const OptimizerGroups& groups,
                             std::initializer_list<const char*> names) {
  const std::int64_t count = context.attrs().Int("count");
  const auto wanted = groups.scalars + static_cast<std::int64_t>(names.size()) * count;
  TENON_INVALID_IF(count < 1 || context.num_inputs() != wanted,
                   "An optimiser with count {} takes {} inputs ({} scalars and {} groups); got {}.", count, wanted,
                   groups.scalars, names.size(), context.num_inputs());
  for (int i = 0; i < groups.scalars; ++i) {
    TENON_INVALID_IF(context.shape(i).rank() != 0, "Input {} of an optimiser is a scalar; it has shape {}.", i,
                     context.shape(i));
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const int parameter = static_cast<int>(groups.Input(0, k, count));
    int group = 0;
    for (const char* name : names) {
      const int i = static_cast<int>(groups.Input(group, k, count));
      TENON_INVALID_IF(!(context.shape(i) == context.shape(parameter)) || context.dtype(i) != context.dtype(parameter),
                       "Parameter {} is {}{}, but its {} is {}{}.", k, NameOf(context.dtype(parameter)),
                       context.shape(parameter), name, NameOf(context.dtype(i)), context.shape(i));
      if (group < groups.updated) {
        context.SetOutput(static_cast<int>(group * count + k), context.dtype(i), context.shape(i));
      }
      ++group;
    }
  }
  return {};
}

// Value of a rank-0 input as double.
inline double ScalarInput(const ReferenceArgs& args, std::size_t i) {
  return *Cast(args.inputs[i], DType::kF64).data<double>();
}

}  // namespace tenon

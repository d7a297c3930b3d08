#pragma once

#include "core/train/layer.h"

namespace tenon {

// The values that a batch norm in training reads.
struct BatchNormValues {
  graph::ValueId scale, shift, running_mean, running_var;
};

// Adds a batch norm over the batches of all ranks to a graph for training: mean and population variance are of all values of
// a channel on all ranks, in this step and in the running statistics. Its output.
Result<graph::ValueId> AddSyncBatchNorm(LayerBuilder& builder, const BatchNormValues& values, double eps,
                                        double momentum);

}  // namespace tenon

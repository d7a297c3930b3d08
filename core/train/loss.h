#pragma once

#include "core/graph/graph.h"
#include "core/train/run_config.h"

namespace tenon {

// Adds a loss, the mean over the batch as one number, after the network's output. `labels`: int64 classes [batch] for
// softmax_cross_entropy, float32 of the output's shape for mse. An error names both shapes.
Result<graph::ValueId> AddLoss(const LossConfig& config, graph::Graph& graph, graph::ValueId output,
                               graph::ValueId labels);

}  // namespace tenon

#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"
#include "core/train/run_config.h"

namespace tenon {

// The axis of the classes in a network's output: 1, or the last one where there is a label for each position of a sequence
// (output [N, T, C], labels [N, T]).
int ClassAxis(const SymShape& output, const SymShape& labels);

// What a batch with these labels counts in a mean over several: its labels, without those of `ignore_index`, each times its
// class weight; for losses against values the number of values. The loss of a batch is a sum divided by this number.
double CountedWeight(const LossConfig& config, const Tensor& labels);
// A class that counts something in it, where there is one.
std::int64_t LabelThatCounts(const LossConfig& config);
// The label that does not count, if there is one.
std::optional<std::int64_t> IgnoredLabel(const LossConfig& config);
// Does each label count 1, unless it is ignored?
bool CountsLabels(const LossConfig& config);

// Adds a loss, the mean over the batch as one number, after the network's output. `labels`: int64 classes [N, D1 ..] for an
// output [N, C, D1 ..], or with the classes in its last axis (see ClassAxis); or float32 values of the output's shape (for an
// output of one column [N] will do); see ComparesValues. For softmax_cross_entropy float32 labels [N, C] are shares of the
// classes. An error names both shapes.
Result<graph::ValueId> AddLoss(const LossConfig& config, graph::Graph& graph, graph::ValueId output,
                               graph::ValueId labels);

}  // namespace tenon

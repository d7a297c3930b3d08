#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace tenon::graph {

// Floating-point operations of one run of a node whose shapes are known, as its operator counts them (OpDef::Flops). A fused
// operator counts as what it replaced, its gradient twice that. -1: a dim is not known.
std::int64_t FlopsOf(const Graph& graph, const Node& node);

}  // namespace tenon::graph

// Reductions between nodes.
#pragma once

#include <vector>

#include "net/wire.h"
#include "node/pipeline.h"

namespace tenon::hccl {

// data[0, count) = reduction over `ranks` (one of each node, this one at `mine`) of their data, in the order of nodes. Each of
// them reduces one part and gives it to the others; parts travel in segments, so that both directions of the wire are busy.
// Messages use the tags from `tag` on.
void ReduceBetween(Wire& wire, const Recipe& recipe, const std::vector<uint32_t>& ranks, uint32_t mine, char* data,
                   uint64_t count, uint64_t tag, uint64_t deadline);

}  // namespace tenon::hccl

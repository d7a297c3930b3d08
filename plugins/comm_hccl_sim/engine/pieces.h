// Which bytes of one rank's send go where in another's receive.
#pragma once

#include "node/pipeline.h"
#include "operation.h"

namespace tenon::hccl {

// For operations that move without reducing; ranks of the communicator. Of all_to_all_v only what this rank knows is right:
// `from` as a source, `to` and `bytes` as a reader, both for itself.
Piece PieceOf(const Operation& operation, uint32_t me, uint32_t source, uint32_t reader);

// A source of this operation gives all readers the same bytes.
bool GivesSame(uint32_t kind);

}  // namespace tenon::hccl

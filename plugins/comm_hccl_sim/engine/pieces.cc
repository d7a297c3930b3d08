#include "engine/pieces.h"

namespace tenon::hccl {

bool GivesSame(uint32_t kind) {
  return kind == TENON_COLLECTIVE_BROADCAST || kind == TENON_COLLECTIVE_ALL_GATHER || kind == TENON_COLLECTIVE_GATHER;
}

Piece PieceOf(const Operation& operation, uint32_t me, uint32_t source, uint32_t reader) {
  const uint64_t bytes = operation.bytes(), width = operation.width();
  const uint32_t root = operation.op.root;
  switch (operation.kind) {
    case TENON_COLLECTIVE_BROADCAST:
      return source == root ? Piece{0, 0, bytes} : Piece{};
    case TENON_COLLECTIVE_ALL_GATHER:
      return {0, source * bytes, bytes};
    case TENON_COLLECTIVE_GATHER:
      return reader == root ? Piece{0, source * bytes, bytes} : Piece{};
    case TENON_COLLECTIVE_SCATTER:
      return source == root ? Piece{reader * bytes, 0, bytes} : Piece{};
    case TENON_COLLECTIVE_ALL_TO_ALL:
      return {reader * bytes, source * bytes, bytes};
    case TENON_COLLECTIVE_ALL_TO_ALL_V: {
      Piece piece;
      if (source == me) {
        piece.from = operation.send_offsets[reader] * width;
        piece.bytes = operation.send_counts[reader] * width;
      }
      if (reader == me) {
        piece.to = operation.receive_offsets[source] * width;
        piece.bytes = operation.receive_counts[source] * width;
      }
      return piece;
    }
    default:
      return {};
  }
}

}  // namespace tenon::hccl

#include "core/data/shard.h"

namespace tenon {

std::vector<std::string> ConfigNamesOf(ShardRule) { return {"exact", "wrap"}; }

Status Shard::Check() const {
  TENON_INVALID_IF(size < 1, "The number of ranks is {}; it must be at least 1.", size);
  TENON_INVALID_IF(rank < 0 || rank >= size, "Rank {} is outside 0 to {} ({} ranks).", rank, size - 1, size);
  return {};
}

}  // namespace tenon

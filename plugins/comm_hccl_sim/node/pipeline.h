// How data moves between the ranks of a node: through their stages, piece by piece, with a step between pieces; or straight from
// and to memory that all can map.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "node/files.h"
#include "node/node.h"
#include "reduce/reduce.h"

namespace tenon::hccl {

// Work that is cut at the points where ranks wait for each other.
class Steps {
 public:
  virtual ~Steps() = default;
  // Works up to the next such point; true: it is done, without another wait.
  virtual bool Next() = 0;
};
void RunSteps(Node& node, Steps& steps, uint64_t deadline);

// Elements of an operation that one rank of the node reduces.
struct Share {
  uint64_t first = 0;  // element of the send of every rank
  uint64_t count = 0;
  uint64_t target = 0;  // element of the receive where the result goes
};

// The parts of [0, count) for `ranks` ranks, cut at cache lines of elements of `width` bytes.
std::vector<Share> CutShares(uint64_t count, uint64_t width, uint32_t ranks);

// What a reduction needs to know beside its memory.
struct Recipe {
  uint32_t dtype = 0, reduction = 0, divisor = 1;
  double factor = 1;
  uint64_t width = 0;
};

// Who keeps results of a staged reduction.
enum class Keep {
  kShare,  // each rank its own share
  kAll,    // each rank all shares
  kRoot    // one rank all shares, the others nothing
};

struct StagedReduction {
  Recipe recipe;
  std::vector<Share> shares;  // of the ranks of the node
  const char* send = nullptr;
  char* receive = nullptr;  // may be `send`; not used where nothing is kept
  Keep keep = Keep::kAll;
  uint32_t root = 0;  // index in the node
  // Where others can read the send of a rank; private ones are staged.
  std::vector<const char*> open;
};
std::unique_ptr<Steps> ReduceStaged(Node& node, StagedReduction work);

// This rank's share from the sends of all ranks into `targets`, all mapped here. Without steps.
void ReduceDirect(const Recipe& recipe, const Share& share, std::span<const char* const> sends,
                  std::span<char* const> targets);

// A piece of one rank's send that goes to one rank's receive.
struct Piece {
  uint64_t from = 0;  // byte in the send of its source
  uint64_t to = 0;    // byte in the receive of its reader
  uint64_t bytes = 0;
};

struct Exchange {
  const char* send = nullptr;
  char* receive = nullptr;
  bool same = false;        // a source gives all readers the same piece
  std::vector<Piece> give;  // this rank's, by reader; with `same` the first entry counts
  std::vector<Piece> take;  // from each source
  uint64_t longest = 0;     // bytes of the longest piece between any two ranks
  // Where others can read the send of a rank; private ones are staged. Pieces of open ones are read there by `take[].from`.
  std::vector<const char*> open;
};
std::unique_ptr<Steps> RunExchange(Node& node, Exchange work);

}  // namespace tenon::hccl

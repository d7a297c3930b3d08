#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/comm/rank.h"
#include "core/plugin/host_handles.h"

namespace tenon {

// What must be equal on all ranks of a run. It is compared before the first collective; a difference is an error that
// names both values and the ranks that have them. An empty text is not compared.
struct Handshake {
  std::string config;   // a line "path: value" for each key that changes the result
  std::string plugins;  // "comm_shared 0.1.0 (ABI 1.0)": id, version and ABI of what takes part in collectives
};

// Where the ranks of a run meet. Every wait has a time limit, and an error by time-out names the ranks that are missing.
// Any thread may call everything.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;  // without Leave: the other ranks see a rank that was lost

  virtual Neighbours neighbours() const = 0;  // of this rank

  // Shared by all ranks. Keys of another job or generation never appear in it.
  virtual KeyValueStore& store() = 0;

  // Tells all ranks that the run cannot go on, and why. The first cause of any rank wins.
  virtual void Abort(const Status& cause) = 0;
  // First failure of any rank, with the rank and its host in the message; OK while there is none. Never waits.
  virtual Status failure() const = 0;
  // `call` runs once, on a thread of the rendezvous, when there is a failure; at once when there is one already. A later
  // call of OnFailure replaces the former function. It must not call Leave or the destructor.
  virtual void OnFailure(std::function<void(const Status&)> call) = 0;

  // Returns when all ranks have come to the barrier of this name, which may be used again and again.
  virtual Status Barrier(std::string_view name, std::uint64_t timeout_ns) = 0;

  // Orderly end: after it nobody misses this rank. Where rank 0 serves, it waits for the others.
  virtual Status Leave() = 0;
};

// Opens the rendezvous library, and registers this rank with the others. Returns when all ranks of the run are there;
// the limits are those of the launcher's variables (see docs/reference/launcher.md).
Result<std::unique_ptr<Rendezvous>> JoinRun(const Rank& rank, const Handshake& handshake);

}  // namespace tenon

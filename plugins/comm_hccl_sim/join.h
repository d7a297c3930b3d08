// How ranks find each other: through the key-value store they say who they are, then each node shares its memory and the
// nodes connect.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "engine/world.h"
#include "hccl/environment.h"
#include "hccl/rank_table.h"
#include "tenon/abi/collective.h"

namespace tenon::hccl {

// What a rank knows of the run beside its communicator's config; belongs to the plugin's instance.
struct Site {
  Environment environment;
  bool has_table = false;
  RankTable table;
  std::string table_ip;  // host_ip of this process, once a communicator of all ranks has told which it is
  std::string table_server;
};

struct Joining {
  sdk::Host host;
  Site* site = nullptr;
  tenon_store* store = nullptr;
  std::string name, node_name;
  uint32_t rank = 0, size = 1;
  uint64_t timeout_ns = 0;  // of joining
  const std::atomic<bool>* stop = nullptr;
  std::atomic<int64_t>* waiting_for = nullptr;
  uint64_t since = 0;  // point in time when it began
};

// Returns when all ranks are there. Throws Faults EI0004 (rank table), EI0005 (ranks that do not fit together), EI0006 (ranks that
// did not come, all named).
World Join(const Joining& joining);

// Keys of this rank are removed, so that the name can be used again.
void ForgetKeys(const Joining& joining);

// First failure of any rank of another node, through the store.
void PublishFailure(const Joining& joining, const Fault& fault);
// Throws it, if there is one within `wait_ns`.
void ThrowPublishedFailure(const Joining& joining, uint64_t wait_ns);

}  // namespace tenon::hccl

// A host of a page for one rank of a collective plugin: opens the plugin, makes communicators, runs operations.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/abi/collective.h"
#include "tenon/sdk/sdk.h"
#include "tests/support/socket_store.h"

namespace tenon::testing_support {

// How an operation or call ended.
struct Ending {
  std::int32_t code = 0;
  std::string text;
  std::int64_t ns = 0;  // how long it took
};

struct CommSetting {
  std::string name = "world";
  std::uint32_t rank = 0, size = 1, local_rank = 0, local_size = 1;
  std::string node;
  std::uint64_t timeout_ns = 20'000'000'000;
  std::uint32_t flags = 0;
  std::string memory_kind = "host", stream_kind = "host";
};

// What a tenon_token is here.
struct CollectiveToken {
  std::atomic<std::int32_t> state{0};  // 1: completed
  std::int32_t code = 0;
  std::string text;
};

class CollectiveHost {
 public:
  // Ends the process with a message when the plugin cannot be opened. The store outlives the host.
  CollectiveHost(const std::string& plugin, StoreClient* store);
  ~CollectiveHost();
  CollectiveHost(const CollectiveHost&) = delete;
  CollectiveHost& operator=(const CollectiveHost&) = delete;

  const tenon_collective_vtable& table() const { return *table_; }
  tenon_plugin* plugin() const { return plugin_; }

  // Joins; *comm stays NULL on failure.
  Ending Create(const CommSetting& setting, tenon_comm** comm);

  using Slot = std::int32_t (*tenon_collective_vtable::*)(tenon_comm*, const tenon_collective_op*, tenon_error*);
  // Enqueues; op.completion is made here. The token is the caller's until Wait.
  Ending Start(Slot slot, tenon_comm* comm, tenon_collective_op* op);
  // The same with a token of the caller's, whose state is 0.
  Ending Start(Slot slot, tenon_comm* comm, tenon_collective_op* op, CollectiveToken* token);
  // Waits for the token of a started operation and frees it.
  static Ending Wait(const tenon_collective_op& op);
  // Both.
  Ending Run(Slot slot, tenon_comm* comm, tenon_collective_op op);

  tenon_error* sink() { return reinterpret_cast<tenon_error*>(&last_error_); }
  const std::string& last_error() const { return last_error_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  friend struct CollectiveServices;
  StoreClient* store_;
  tenon_host_api api_{};
  const tenon_plugin_descriptor* descriptor_ = nullptr;
  const tenon_collective_vtable* table_ = nullptr;
  tenon_plugin* plugin_ = nullptr;
  std::string last_error_;
  std::vector<std::string> log_;
  std::mutex log_mutex_;
};

// An operation on `count` elements.
tenon_collective_op NewCollective(const void* send, void* receive, std::uint64_t count, std::uint32_t dtype,
                                  std::uint32_t reduction = 0);

}  // namespace tenon::testing_support

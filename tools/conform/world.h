// Ranks of a communicator: each an instance of the plugin of its own, all in this process, over one key-value store.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tenon/abi/collective.h"
#include "tools/conform/session.h"

namespace tenon::conform {

// How a communicator is made.
struct CommWay {
  std::string name = "world";
  std::uint32_t flags = 0;
  std::uint64_t timeout_ns = 20'000'000'000;
};

// One rank: an instance, and a communicator once joined.
class Rank {
 public:
  // The store must outlive the rank. Skips the case without tenon.collective.
  Rank(Context& context, const Library& library, KeyValueStore* store, std::uint32_t rank, std::uint32_t size);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  Instance& instance() { return instance_; }
  const tenon_collective_vtable& table() const { return *table_; }
  tenon_comm* comm() const { return comm_; }

  // comm_create; blocks until all ranks joined. The communicator is this rank's from now on.
  std::int32_t Join(const CommWay& way = {}, tenon_error* error = nullptr);
  // A further communicator, the caller's.
  std::int32_t Create(const CommWay& way, tenon_comm** out, tenon_error* error);
  void Leave();

  // An operation record with its number on this communicator and a completion token.
  tenon_collective_op NewOp();
  // Waits for the token of an operation; its code, or DEADLINE_EXCEEDED when none came within `ms`.
  std::int32_t Wait(const tenon_collective_op& op, int ms = 20000, std::string* text = nullptr);

 private:
  Context& context_;
  Instance instance_;
  const tenon_collective_vtable* table_;
  tenon_store store_;
  std::uint32_t rank_, size_;
  tenon_comm* comm_ = nullptr;
  std::uint64_t sequence_ = 0;
};

// Runs `body` for each of `size` ranks in a thread of its own, joined to one communicator.
void RunWorld(Context& context, std::uint32_t size, const std::function<void(Rank&)>& body, const CommWay& way = {});
// The same without joining.
void RunRanks(Context& context, std::uint32_t size, KeyValueStore* store, const std::function<void(Rank&)>& body);

}  // namespace tenon::conform

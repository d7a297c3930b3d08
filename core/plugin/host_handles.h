#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tenon/abi/types.h"

namespace tenon {

// Key-value store shared by the ranks of a run; the folder that owns communication implements it.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  // Waits up to timeout_ns (0: not at all). NOT_FOUND, DEADLINE_EXCEEDED or UNAVAILABLE.
  virtual Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) = 0;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Delete(std::string_view key) = 0;
};

// Gives memory for an output whose dims a kernel learns while it runs; the executor implements it.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Fills *out; valid as long as the executor keeps the value.
  virtual Status Allocate(std::uint32_t index, std::span<const std::int64_t> dims, tenon_tensor* out) = 0;
};

}  // namespace tenon

// Handles of the ABI that wrap objects of the host. The owner of the object makes one beside it.
struct tenon_store {
  tenon::KeyValueStore* store = nullptr;
};
struct tenon_output_alloc {
  tenon::OutputAllocator* allocator = nullptr;
};
// Set once by the host, read by plugins.
struct tenon_cancel {
  std::atomic<std::uint32_t> requested{0};
  void Request() { requested.store(1, std::memory_order_release); }
};

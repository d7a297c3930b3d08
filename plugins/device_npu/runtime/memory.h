// Memory of one simulated device: a memory file that only this plugin maps. Addresses that the host sees lie in a range of
// the same size that is reserved without any access, so that a host that follows one crashes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace tenon::npu {

// All members may be used from any thread.
class Memory {
 public:
  // Smallest distance between two allocations, and what every address is a multiple of.
  static constexpr uint64_t kAlign = 256;

  // Throws sdk::Failure when the system gives no memory file or no room for its addresses.
  explicit Memory(uint64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Takes the first free range that fits; false when there is none. Content is 0xFF bytes: NaN in every floating type.
  bool Take(uint64_t bytes, uint64_t align, uint64_t& address);
  void Give(uint64_t address);

  // Where the plugin sees `bytes` bytes at a device address; NULL unless they lie inside one allocation.
  std::byte* Resolve(uint64_t address, uint64_t bytes) const;
  int file() const { return file_; }
  uint64_t OffsetOf(uint64_t address) const { return address - reserved_; }

  struct Stats {
    uint64_t current, peak, total, largest_free;
    uint64_t free() const { return total - current; }
  };
  Stats stats() const;

 private:
  uint64_t LargestFree() const;

  uint64_t bytes_;
  int file_ = -1;
  std::byte* mapped_ = nullptr;
  uint64_t reserved_ = 0;  // first address that the host sees
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // offset -> bytes; neighbours are joined
  std::map<uint64_t, uint64_t> used_;
  uint64_t current_ = 0, peak_ = 0;
};

}  // namespace tenon::npu

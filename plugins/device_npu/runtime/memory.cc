#include "runtime/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tenon/sdk/error.h"

namespace tenon::npu {
namespace {

// Pages of freed blocks of this size go back to the system.
constexpr uint64_t kReturned = uint64_t{1} << 20;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

[[noreturn]] void Refuse(const char* what, uint64_t bytes) {
  throw sdk::Failure(TENON_RESOURCE_EXHAUSTED, "The system refused ", what, " of ", bytes,
                     " bytes: ", std::strerror(errno), ".");
}

}  // namespace

Memory::Memory(uint64_t bytes) : bytes_(RoundUp(bytes, 4096)) {
  file_ = memfd_create("npu.sim.memfd", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0) Refuse("a memory file", bytes_);
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapped == MAP_FAILED) Refuse("a mapping", bytes_);
  mapped_ = static_cast<std::byte*>(mapped);
  void* reserved = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) Refuse("a range of addresses", bytes_);
  reserved_ = reinterpret_cast<uintptr_t>(reserved);
  free_[0] = bytes_;
}

Memory::~Memory() {
  munmap(reinterpret_cast<void*>(static_cast<uintptr_t>(reserved_)), bytes_);
  munmap(mapped_, bytes_);
  close(file_);
}

bool Memory::Take(uint64_t bytes, uint64_t align, uint64_t& address) {
  if (bytes > bytes_) return false;
  const uint64_t size = RoundUp(bytes, kAlign), unit = std::max(align, kAlign);
  std::byte* block = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      const uint64_t begin = at->first, end = begin + at->second;
      const uint64_t place = RoundUp(reserved_ + begin, unit) - reserved_;
      if (place + size > end) continue;
      free_.erase(at);
      if (place > begin) free_[begin] = place - begin;
      if (end > place + size) free_[place + size] = end - place - size;
      used_[place] = size;
      current_ += size;
      peak_ = std::max(peak_, current_);
      address = reserved_ + place;
      block = mapped_ + place;
      break;
    }
  }
  if (block == nullptr) return false;
  std::memset(block, 0xFF, size);
  return true;
}

void Memory::Give(uint64_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = used_.find(address - reserved_);
  if (found == used_.end()) return;
  uint64_t begin = found->first, size = found->second;
  current_ -= size;
  used_.erase(found);
  if (size >= kReturned)
    (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                    static_cast<off_t>(size));
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && begin + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_[begin] = size;
}

std::byte* Memory::Resolve(uint64_t address, uint64_t bytes) const {
  if (address < reserved_ || address - reserved_ >= bytes_) return nullptr;
  const uint64_t place = address - reserved_;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto after = used_.upper_bound(place);
  if (after == used_.begin()) return nullptr;
  const auto& block = *std::prev(after);
  const uint64_t within = place - block.first;
  if (within > block.second || bytes > block.second - within) return nullptr;
  return mapped_ + place;
}

uint64_t Memory::LargestFree() const {
  uint64_t largest = 0;
  for (const auto& block : free_) largest = std::max(largest, block.second);
  return largest;
}

Memory::Stats Memory::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {current_, peak_, bytes_, LargestFree()};
}

}  // namespace tenon::npu

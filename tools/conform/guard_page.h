// Memory beside pages that cannot be touched: what is placed at its end or its start shows every access beyond.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon::conform {

class GuardedBytes {
 public:
  // bytes: at most a page.
  explicit GuardedBytes(std::uint64_t bytes) : page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_ + page_, page_, PROT_NONE);
    data_ = base_ + page_ - bytes;
    std::memset(base_, 0xA5, page_ - bytes);
    std::memset(data_, 0, bytes);
  }
  ~GuardedBytes() { ::munmap(base_, 2 * page_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  char* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::uint64_t page_;
  char* base_;
  char* data_;
};

// Whole pages between two that cannot be touched.
class FencedBytes {
 public:
  explicit FencedBytes(std::uint64_t bytes) : page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {
    bytes_ = std::max(page_, (bytes + page_ - 1) / page_ * page_);
    void* const base = ::mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = static_cast<std::uint8_t*>(base) + page_;
    ::mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
  }
  ~FencedBytes() { ::munmap(begin_ - page_, bytes_ + 2 * page_); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;

  std::uint8_t* begin() const { return begin_; }
  std::uint8_t* end() const { return begin_ + bytes_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(begin_); }

 private:
  std::uint64_t page_, bytes_;
  std::uint8_t* begin_;
};

}  // namespace tenon::conform

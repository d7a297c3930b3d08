// Memory that ends where the next byte cannot be touched: a struct placed at its end shows every access beyond.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

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

}  // namespace tenon::conform

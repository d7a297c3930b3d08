#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/abi/profiler.h"

namespace tenon::profile {

// The buffers that one plugin fills with records, kept until the session is over. Request and return from any thread.
class RecordBuffers {
 public:
  static constexpr std::uint64_t kBufferBytes = 64 * 1024;

  explicit RecordBuffers(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  RecordBuffers(const RecordBuffers&) = delete;
  RecordBuffers& operator=(const RecordBuffers&) = delete;

  // The slots of tenon_profiler_config; user is this object.
  static void* Request(void* user, std::uint64_t* bytes) noexcept;
  static void Return(void* user, void* buffer, std::uint64_t used, std::uint64_t dropped) noexcept;

  // Every record whose buffer came back, with the host time at which it did. What a plugin with smaller records leaves
  // out is 0. After the session.
  void ForEach(const std::function<void(const tenon_record& record, std::int64_t returned_ns)>& fn) const;

  std::int64_t dropped() const;    // as the plugin counted
  std::int64_t malformed() const;  // buffers with something else than records, or never handed out
  std::int64_t missing() const;    // buffers that were not given back

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::uint64_t used = 0;
    bool lent = false;
    std::int64_t returned_ns = 0;
  };
  void* Take(std::uint64_t* bytes);
  void Put(void* buffer, std::uint64_t used, std::uint64_t dropped);

  const std::int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  std::int64_t dropped_ = 0;
  mutable std::int64_t malformed_ = 0;
};

}  // namespace tenon::profile

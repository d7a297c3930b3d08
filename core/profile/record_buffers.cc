#include "core/profile/record_buffers.h"

#include <algorithm>
#include <cstring>

#include "core/platform/process.h"

namespace tenon::profile {

void* RecordBuffers::Request(void* user, std::uint64_t* bytes) noexcept {
  *bytes = 0;
  try {
    return static_cast<RecordBuffers*>(user)->Take(bytes);
  } catch (...) {
    return nullptr;  // no memory: the plugin counts its records as dropped
  }
}

void RecordBuffers::Return(void* user, void* buffer, std::uint64_t used, std::uint64_t dropped) noexcept {
  static_cast<RecordBuffers*>(user)->Put(buffer, used, dropped);
}

void* RecordBuffers::Take(std::uint64_t* bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto lend = [bytes](Block& block) -> void* {
    block.lent = true;
    *bytes = kBufferBytes;
    return block.bytes.get();
  };
  // Came back empty: usually the newest.
  for (auto at = blocks_.rbegin(); at != blocks_.rend() && at - blocks_.rbegin() < 64; ++at) {
    if (!at->lent && at->used == 0) return lend(*at);
  }
  if (static_cast<std::int64_t>((blocks_.size() + 1) * kBufferBytes) > limit_bytes_) return nullptr;
  blocks_.push_back({std::make_unique_for_overwrite<char[]>(kBufferBytes), 0, false, 0});
  return lend(blocks_.back());
}

void RecordBuffers::Put(void* buffer, std::uint64_t used, std::uint64_t dropped) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped_ += static_cast<std::int64_t>(dropped);
  if (buffer == nullptr) return;
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                  [&](const Block& block) { return block.bytes.get() == buffer && block.lent; });
  if (found == blocks_.rend() || used > kBufferBytes) {
    ++malformed_;
    return;
  }
  found->lent = false;
  found->used = used;
  found->returned_ns = MonotonicRawNs();
}

void RecordBuffers::ForEach(const std::function<void(const tenon_record& record, std::int64_t returned_ns)>& fn) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Block& block : blocks_) {
    if (block.lent) continue;
    for (std::uint64_t at = 0; at < block.used;) {
      const std::uint64_t left = block.used - at;
      tenon_record record{};
      if (left < sizeof record.header) {
        ++malformed_;
        break;
      }
      std::memcpy(&record.header, block.bytes.get() + at, sizeof record.header);
      const std::uint64_t size = record.header.size;
      if (size < sizeof record.header || size % 8 != 0 || size > left) {
        ++malformed_;
        break;
      }
      std::memcpy(&record, block.bytes.get() + at, std::min<std::uint64_t>(size, sizeof record));
      fn(record, block.returned_ns);
      at += size;
    }
  }
}

std::int64_t RecordBuffers::dropped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

std::int64_t RecordBuffers::malformed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return malformed_;
}

std::int64_t RecordBuffers::missing() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.lent; });
}

}  // namespace tenon::profile

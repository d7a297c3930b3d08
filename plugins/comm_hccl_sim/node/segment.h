// The memory that the ranks of a node share for one communicator: a memory file that the first of them makes. All zero is the
// state that everything starts from.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "operation.h"

namespace tenon::hccl {

constexpr uint32_t kMaxLocal = 64;     // ranks of a node
constexpr uint64_t kEager = 16384;     // bytes that travel with a header
constexpr uint64_t kStage = 2u << 20;  // bytes of a rank's stage, one of two
constexpr uint64_t kSlot = 65536;      // bytes of one message between two ranks
constexpr uint32_t kSlots = 4;
// What a step writes, the next step reads, and an operation's first step waits for nobody: three copies are enough.
constexpr uint32_t kCopies = 3;
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

enum class LineState : uint32_t { kJoining = 0, kIn = 1, kLeft = 2, kAborted = 3 };

// One rank as the others see it. What changes in every step has a line of its own.
struct RankLine {
  alignas(128) std::atomic<uint64_t> steps;  // that it has finished
  alignas(128) std::atomic<uint32_t> bell;   // futex: changes when it should look again
  std::atomic<uint32_t> sleeping;            // it waits for the bell
  std::atomic<uint32_t> state;               // LineState
  alignas(128) std::atomic<uint32_t> kind;   // of the operation that it is in
  std::atomic<uint64_t> sequence;
  alignas(128) cpu_set_t cores;  // that it may run on; before the first step
};

// The first failure in the node.
struct FailureRecord {
  std::atomic<uint32_t> state;  // 0: none; 1: being written; 2: there
  int32_t code;
  int32_t ei;
  uint32_t size;
  char text[4000];
};

// Messages from one rank to another.
struct Channel {
  alignas(128) std::atomic<uint64_t> written;  // slots
  alignas(128) std::atomic<uint64_t> read;
  struct alignas(128) Slot {
    Header header;
    uint64_t bytes;
    char data[kSlot];
  } slots[kSlots];
};

struct SegmentHead {
  FailureRecord failure;
  uint64_t slice;  // bytes of a pipeline's piece, set by the rank that made the segment
};

// Where what lies in a segment of `ranks` ranks of a node in a communicator of `size`.
class SegmentLayout {
 public:
  SegmentLayout() = default;
  SegmentLayout(uint32_t ranks, uint32_t size);
  uint64_t bytes() const { return end_; }

  SegmentHead& head(char* base) const { return *reinterpret_cast<SegmentHead*>(base); }
  RankLine& line(char* base, uint32_t rank) const { return reinterpret_cast<RankLine*>(base + lines_)[rank]; }
  Header& header(char* base, uint64_t copy, uint32_t rank) const {
    return reinterpret_cast<PaddedHeader*>(base + headers_)[copy * ranks_ + rank].header;
  }
  char* eager(char* base, uint64_t copy, uint32_t rank) const {
    return base + eager_ + (copy * ranks_ + rank) * kEager;
  }
  // What the ranks of all nodes say, by rank of the communicator.
  Header* everyone(char* base) const { return reinterpret_cast<Header*>(base + everyone_); }
  char* stage(char* base, uint64_t copy, uint32_t rank) const {
    return base + stages_ + (copy * ranks_ + rank) * kStage;
  }
  char* result(char* base, uint64_t copy, uint32_t rank) const {
    return base + results_ + (copy * ranks_ + rank) * kStage;
  }
  Channel& channel(char* base, uint32_t from, uint32_t to) const {
    return reinterpret_cast<Channel*>(base + channels_)[from * ranks_ + to];
  }

 private:
  struct alignas(128) PaddedHeader {
    Header header;
  };
  uint64_t ranks_ = 0, lines_ = 0, headers_ = 0, eager_ = 0, everyone_ = 0, stages_ = 0, results_ = 0, channels_ = 0,
           end_ = 0;
};

}  // namespace tenon::hccl

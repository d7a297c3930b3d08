// An operation as it was enqueued, and what ranks tell each other about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hccl/fault.h"
#include "tenon/abi/collective.h"

namespace tenon::hccl {

// Beside the kinds of the interface: memory of the buffer hook is made in the order of operations.
constexpr uint32_t kShareBlock = 100;

// Where memory lies that other ranks of the node can map: a file of theirs or ours. 0: private memory.
struct Place {
  uint32_t file = 0;
  uint32_t reserved = 0;
  uint64_t offset = 0;
  bool shared() const { return file != 0; }
  friend bool operator==(const Place& a, const Place& b) { return a.file == b.file && a.offset == b.offset; }
};

// What a rank says of its operation before data flows; all fields that must agree between ranks, and where its memory is.
struct Header {
  uint32_t kind = 0;
  uint32_t dtype = 0;
  uint32_t reduction = 0;
  uint32_t root = 0;
  uint64_t count = 0;
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;
  uint64_t factor = 0;   // bits of the scale
  uint64_t largest = 0;  // all_to_all_v: elements of the largest block that this rank sends
  Place send, receive;
};

// Where memory of a device lies: a file that the device owns. -1: nowhere.
struct NativePlace {
  int32_t file = -1;
  uint64_t offset = 0;
};

// The order of an operation on a stream: work before it is done when it may start, work behind it waits for its end.
class StreamGate;

struct Operation {
  uint32_t kind = 0;
  tenon_collective_op op = TENON_INIT(tenon_collective_op);
  std::vector<uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
  std::shared_ptr<StreamGate> gate;  // NULL: the stream is inline

  NativePlace native_send, native_receive;

  // Filled when it starts.
  char* send = nullptr;  // as this process sees them
  char* receive = nullptr;
  Place send_place, receive_place;
  void* result = nullptr;  // kShareBlock: where the answer goes

  uint64_t width() const;                                // bytes of an element
  uint64_t bytes() const { return op.count * width(); }  // of `count` elements
  bool reduces() const;
  bool point_to_point() const { return kind == TENON_COLLECTIVE_SEND || kind == TENON_COLLECTIVE_RECV; }
  double factor() const { return op.scale == 0 ? 1 : op.scale; }
};

// Copies the record after checking it for a communicator of `size` ranks; Fault EI0003 names the bad value.
Operation CheckedOperation(uint32_t kind, const tenon_collective_op& op, uint32_t size);

// How many elements of memory `rank` needs at send and at receive; 0 where it does not use them.
struct Extent {
  uint64_t send, receive;
};
Extent ExtentOf(const Operation& operation, uint32_t rank, uint32_t size);

Header HeaderOf(const Operation& operation);

// Throws Fault EI0005 with a line for every rank when they do not mean the same. `ranks`: whose headers they are.
void CompareHeaders(const std::vector<Header>& headers, const std::vector<uint32_t>& ranks);

std::string DescribeHeader(const Header& header);
const char* KindName(uint32_t kind);

}  // namespace tenon::hccl

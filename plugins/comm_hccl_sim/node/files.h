// Memory files that the ranks of a node share beside the segment: blocks of the buffer hook, and the memory of devices. A rank
// that owns one sends it to the others; an address in it is then a Place, which every rank can turn into an address of its own.
#pragma once

#include <mutex>
#include <vector>

#include "node/node.h"

namespace tenon::hccl {

class Files {
 public:
  explicit Files(Node& node) : node_(node) {}
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // Makes a block that the other ranks get with Take; every rank calls one of both, in the same order. The address here.
  char* Make(uint64_t bytes);
  char* Take(uint32_t owner, uint64_t deadline);
  // Unmaps a block.
  void Drop(char* address);

  // Where `bytes` at a host address lie; private unless all of them are in one block.
  Place Find(const char* address, uint64_t bytes);
  // Where a place of a file of this process lies, which others may have to map (the memory of a device).
  Place Find(int file, uint64_t offset);
  // The address here of a place of any rank; waits for the file if it is still on its way.
  char* Resolve(const Place& place, uint64_t deadline);

 private:
  struct Mapping {
    uint32_t id;  // of Place
    char* address;
    uint64_t bytes;
    int file;                // -1, or a file of this process that stays its owner's
    uint64_t device, inode;  // of `file`
  };
  uint32_t Share(int file, uint64_t bytes);
  char* Add(uint32_t id, int file, uint64_t bytes, bool keep);
  Mapping* Known(uint32_t id);
  void ReceiveFrom(uint32_t owner, uint64_t deadline);

  Node& node_;
  std::mutex mutex_;
  std::vector<Mapping> mappings_;
  uint32_t made_ = 0;
};

}  // namespace tenon::hccl

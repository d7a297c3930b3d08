#include "node/files.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/sockets.h"

namespace tenon::hccl {
namespace {

// A place names its file by owner and number.
uint32_t IdOf(uint32_t owner, uint32_t number) { return owner << 24 | number; }
uint32_t OwnerOf(uint32_t id) { return id >> 24; }

Fault NoMemory(uint64_t bytes, const char* what) {
  return MakeFault(TENON_RESOURCE_EXHAUSTED, Ei::kAllocation,
                   std::string(what) + " of " + std::to_string(bytes) + " bytes failed: " + std::strerror(errno) + ".");
}

}  // namespace

Files::~Files() {
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
}

char* Files::Make(uint64_t bytes) {
  const Descriptor file(memfd_create("tenon_hccl_block", MFD_CLOEXEC));
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(size)) != 0)
    throw NoMemory(size, "A block that the ranks of a node share");
  const std::lock_guard<std::mutex> lock(mutex_);
  return Add(Share(file.get(), size), file.get(), size, false);
}

char* Files::Take(uint32_t owner, uint64_t deadline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ReceiveFrom(owner, deadline);
  return mappings_.back().address;
}

void Files::Drop(char* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(mappings_.begin(), mappings_.end(),
                                  [address](const Mapping& mapping) { return mapping.address == address; });
  if (found == mappings_.end()) return;
  munmap(found->address, found->bytes);
  mappings_.erase(found);
}

Place Files::Find(const char* address, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    if (mapping.file >= 0 || address < mapping.address) continue;
    const auto offset = static_cast<uint64_t>(address - mapping.address);
    if (offset <= mapping.bytes && bytes <= mapping.bytes - offset) return {mapping.id, 0, offset};
  }
  return {};
}

Place Files::Find(int file, uint64_t offset) {
  struct stat status {};
  if (fstat(file, &status) != 0) throw NoMemory(0, "Looking at the memory file of a device");
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    if (mapping.file == file && mapping.device == status.st_dev && mapping.inode == status.st_ino)
      return {mapping.id, 0, offset};
  }
  const auto bytes = static_cast<uint64_t>(status.st_size);
  const uint32_t id = Share(file, bytes);
  Add(id, file, bytes, true);
  return {id, 0, offset};
}

char* Files::Resolve(const Place& place, uint64_t deadline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Mapping* mapping = Known(place.file);
  while (mapping == nullptr) {
    ReceiveFrom(OwnerOf(place.file), deadline);
    mapping = Known(place.file);
  }
  return mapping->address + place.offset;
}

// Sends a file to all ranks of the node and gives its id.
uint32_t Files::Share(int file, uint64_t bytes) {
  const uint32_t id = IdOf(node_.me(), ++made_);
  for (uint32_t index = 0; index < node_.ranks(); ++index) {
    const Descriptor& socket = node_.neighbour(index).socket;
    if (!socket.valid() || SendNote(socket, {id, bytes}, file)) continue;
    node_.Check(static_cast<int>(index));  // says more if the process has ended
    throw MakeFault(
        TENON_UNAVAILABLE, Ei::kConnect,
        "Memory cannot be shared with rank " + std::to_string(node_.rank_of(index)) + ": its socket is closed.");
  }
  return id;
}

char* Files::Add(uint32_t id, int file, uint64_t bytes, bool keep) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw NoMemory(bytes, "Mapping shared memory");
  if (!keep) madvise(memory, bytes, MADV_HUGEPAGE);
  struct stat status {};
  fstat(file, &status);
  mappings_.push_back({id, static_cast<char*>(memory), bytes, keep ? file : -1, status.st_dev, status.st_ino});
  return mappings_.back().address;
}

Files::Mapping* Files::Known(uint32_t id) {
  for (Mapping& mapping : mappings_) {
    if (mapping.id == id) return &mapping;
  }
  return nullptr;
}

void Files::ReceiveFrom(uint32_t owner, uint64_t deadline) {
  const uint64_t start = NowNs();
  const Descriptor& socket = node_.neighbour(owner).socket;
  for (;;) {
    Note note;
    Descriptor file;
    const int received = ReceiveNote(socket, 20, &note, &file);
    if (received > 0 && file.valid()) {
      Add(static_cast<uint32_t>(note.value), file.get(), note.extra, false);
      return;
    }
    node_.Check(static_cast<int>(owner));
    if (received < 0)
      throw MakeFault(TENON_UNAVAILABLE, Ei::kConnect,
                      "Rank " + std::to_string(node_.rank_of(owner)) + " closed its socket while memory was shared.");
    if (NowNs() >= deadline) throw node_.LateFault(static_cast<int>(owner), NowNs() - start);
  }
}

}  // namespace tenon::hccl

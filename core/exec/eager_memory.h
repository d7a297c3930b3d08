#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/device/device.h"

namespace tenon::exec {

class EagerPool;

// Memory of one or more eager tensors. Counted without locks: one thread owns an engine and its tensors.
struct EagerStorage {
  std::int32_t references = 0;
  std::int32_t size_class = -1;  // -1: memory that the pool does not own
  std::uint64_t address = 0;
  EagerStorage* next = nullptr;  // in a list of free storages
  Buffer buffer;                 // of pooled memory
  std::shared_ptr<void> owner;   // of foreign memory
};

// Device memory in size classes (four in each doubling, from 64 bytes). What is given back is kept and handed out again;
// it goes to the device only when the device runs out of memory, or with the pool. One thread.
class EagerPool {
 public:
  explicit EagerPool(Device& device) : device_(device) {}
  ~EagerPool();
  EagerPool(const EagerPool&) = delete;
  EagerPool& operator=(const EagerPool&) = delete;

  static int ClassOf(std::int64_t bytes);
  static std::int64_t BytesOf(int size_class);

  // A storage with one reference, or null when none of this class is free: then Grow makes one.
  EagerStorage* Take(int size_class) {
    EagerStorage*& head = free_[static_cast<std::size_t>(size_class)];
    EagerStorage* storage = head;
    if (storage == nullptr) return nullptr;
    head = storage->next;
    storage->references = 1;
    return storage;
  }
  Result<EagerStorage*> Grow(int size_class);
  // Memory of somebody else, kept alive by `owner` (may be null: the caller keeps it).
  EagerStorage* Wrap(std::uint64_t address, std::shared_ptr<void> owner);

  void Release(EagerStorage* storage) {
    if (--storage->references > 0) return;
    if (storage->size_class < 0) return Drop(storage);
    EagerStorage*& head = free_[static_cast<std::size_t>(storage->size_class)];
    storage->next = head;
    head = storage;
  }
  // Gives all free memory back to the device.
  void ReleaseFree();

  std::int64_t allocations() const { return allocations_; }  // how often the device was asked

 private:
  static constexpr std::size_t kClasses = 200;
  void Drop(EagerStorage* storage);

  Device& device_;
  std::array<EagerStorage*, kClasses> free_{};
  EagerStorage* wrappers_ = nullptr;  // empty ones, for Wrap
  std::int64_t allocations_ = 0;
};

}  // namespace tenon::exec

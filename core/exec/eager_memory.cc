#include "core/exec/eager_memory.h"

#include <algorithm>
#include <bit>

namespace tenon::exec {
namespace {

constexpr std::int64_t kUnit = 64;

}  // namespace

// Classes 0 to 3 have 1 to 4 units; then each doubling (2^k, 2^(k+1)] has four steps of 2^(k-2) units.
int EagerPool::ClassOf(std::int64_t bytes) {
  const auto units = static_cast<std::uint64_t>(std::max<std::int64_t>(1, (bytes + kUnit - 1) / kUnit));
  if (units <= 4) return static_cast<int>(units) - 1;
  const int k = static_cast<int>(std::bit_width(units - 1)) - 1;
  const std::uint64_t base = std::uint64_t{1} << k, step = base / 4;
  const auto within = static_cast<int>((units - base + step - 1) / step);
  return 4 * (k - 1) + within - 1;
}

std::int64_t EagerPool::BytesOf(int size_class) {
  if (size_class < 4) return kUnit * (size_class + 1);
  const int k = size_class / 4 + 1;
  const std::int64_t base = std::int64_t{1} << k;
  return kUnit * (base + base / 4 * (size_class % 4 + 1));
}

Result<EagerStorage*> EagerPool::Grow(int size_class) {
  auto buffer = device_.Allocate(BytesOf(size_class), TENON_ALLOC_DEFAULT);
  if (!buffer.ok() && buffer.status().code() == Code::kResourceExhausted) {
    ReleaseFree();
    buffer = device_.Allocate(BytesOf(size_class), TENON_ALLOC_DEFAULT);
  }
  if (!buffer.ok()) return std::move(buffer).status();
  ++allocations_;
  auto storage = std::make_unique<EagerStorage>();
  storage->references = 1;
  storage->size_class = size_class;
  storage->buffer = std::move(*buffer);
  storage->address = storage->buffer.address();
  return storage.release();
}

EagerStorage* EagerPool::Wrap(std::uint64_t address, std::shared_ptr<void> owner) {
  EagerStorage* storage = wrappers_;
  if (storage != nullptr) {
    wrappers_ = storage->next;
  } else {
    storage = new EagerStorage;
  }
  storage->references = 1;
  storage->address = address;
  storage->owner = std::move(owner);
  return storage;
}

void EagerPool::Drop(EagerStorage* storage) {
  storage->owner.reset();
  storage->next = wrappers_;
  wrappers_ = storage;
}

void EagerPool::ReleaseFree() {
  for (EagerStorage*& head : free_) {
    while (head != nullptr) {
      EagerStorage* storage = head;
      head = storage->next;
      delete storage;
    }
  }
}

EagerPool::~EagerPool() {
  ReleaseFree();
  while (wrappers_ != nullptr) {
    EagerStorage* storage = wrappers_;
    wrappers_ = storage->next;
    delete storage;
  }
}

}  // namespace tenon::exec

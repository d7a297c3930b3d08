#include "core/plugin/handle_book.h"

namespace tenon {

const char* HandleKindName(HandleKind kind) {
  switch (kind) {
    case HandleKind::kPlugin:
      return "plugin instance";
    case HandleKind::kDevice:
      return "device";
    case HandleKind::kSpace:
      return "memory space";
    case HandleKind::kBuffer:
      return "buffer";
    case HandleKind::kStream:
      return "stream";
    case HandleKind::kEvent:
      return "event";
    case HandleKind::kCapture:
      return "capture";
    case HandleKind::kKernel:
      return "kernel";
    case HandleKind::kComm:
      return "communicator";
    case HandleKind::kGroup:
      return "group";
    case HandleKind::kSession:
      return "profiler session";
  }
  return "object";
}

HandleBook& HandleBook::Get() {
  static auto* book = new HandleBook;  // plugins may be called from static destructors
  return *book;
}

void HandleBook::Add(HandleKind kind, const void* handle, HandleRecord record) {
  record.alive = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  records_[{kind, handle}] = record;
}

HandleRecord HandleBook::Find(HandleKind kind, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find({kind, handle});
  return found == records_.end() ? HandleRecord{} : found->second;
}

HandleRecord HandleBook::Remove(HandleKind kind, const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find({kind, handle});
  if (found == records_.end()) return {};
  const HandleRecord before = found->second;
  found->second.alive = false;
  return before;
}

}  // namespace tenon

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "tenon/abi/types.h"

namespace tenon {

class CheckedTables;

enum class HandleKind {
  kPlugin,
  kDevice,
  kSpace,
  kBuffer,
  kStream,
  kEvent,
  kCapture,
  kKernel,
  kComm,
  kGroup,
  kSession
};
const char* HandleKindName(HandleKind kind);

template <class T>
struct HandleKindOf;  // of the incomplete types of the ABI
#define TENON_HANDLE_KIND(type, kind)                     \
  template <>                                             \
  struct HandleKindOf<type> {                             \
    static constexpr HandleKind value = HandleKind::kind; \
  }
TENON_HANDLE_KIND(tenon_plugin, kPlugin);
TENON_HANDLE_KIND(tenon_device, kDevice);
TENON_HANDLE_KIND(tenon_space, kSpace);
TENON_HANDLE_KIND(tenon_buffer, kBuffer);
TENON_HANDLE_KIND(tenon_stream, kStream);
TENON_HANDLE_KIND(tenon_event, kEvent);
TENON_HANDLE_KIND(tenon_capture, kCapture);
TENON_HANDLE_KIND(tenon_kernel, kKernel);
TENON_HANDLE_KIND(tenon_comm, kComm);
TENON_HANDLE_KIND(tenon_comm_group, kGroup);
TENON_HANDLE_KIND(tenon_profiler_session, kSession);
#undef TENON_HANDLE_KIND

// What is known about one object of a plugin.
struct HandleRecord {
  const CheckedTables* owner = nullptr;
  bool alive = false;
  std::uint64_t base = 0;   // buffers: where their memory starts, guards included; 0: no guards
  std::uint64_t guard = 0;  // bytes before and after
  std::uint64_t bytes = 0;
  bool flag = false;             // spaces: reachable for the host; devices: inline streams; kernels: one call at a time
  std::uint64_t workspace = 0;   // kernels: bytes planned
  int calls = 0;                 // kernels: that run now
  const void* device = nullptr;  // streams, spaces, kernels: theirs
};

// Objects of all plugins that run under checks, by kind and address. Any thread. Destroyed ones stay known until their
// address is given out again, so that a late use can be told from a foreign pointer.
class HandleBook {
 public:
  static HandleBook& Get();
  void Add(HandleKind kind, const void* handle, HandleRecord record);
  // The record, alive or not; `owner` is null when the handle was never seen.
  HandleRecord Find(HandleKind kind, const void* handle);
  // Marks it destroyed and returns what it was.
  HandleRecord Remove(HandleKind kind, const void* handle);
  // Changes a record that is there.
  template <class F>
  void Change(HandleKind kind, const void* handle, F&& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = records_.find({kind, handle});
    if (found != records_.end()) change(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<HandleKind, const void*>, HandleRecord> records_;
};

}  // namespace tenon

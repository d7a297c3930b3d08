// A host of a few lines, built from the ABI headers alone: proves that a plugin needs nothing of the core, and serves
// the tests of the sdk. Not thread-safe.
#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/collective.h"
#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

// What an error sink of this host remembers.
struct tenon_error {
  int32_t code = TENON_OK;
  std::string message;
  uint64_t requested_bytes = 0;
};

// Completion of a token.
struct tenon_token {
  int completions = 0;
  int32_t code = -1;
};

namespace tenon::test {

inline std::string_view View(tenon_str text) { return {text.data, static_cast<size_t>(text.size)}; }
inline tenon_str Str(std::string_view text) { return {text.data(), text.size()}; }

struct MiniHost {
  std::map<std::string, int64_t> int_options;
  std::vector<std::string> log_lines;
  tenon_host_api api = TENON_INIT(tenon_host_api);

  MiniHost() {
    api.abi_minor = TENON_ABI_MINOR;
    api.host = reinterpret_cast<tenon_host*>(this);
    api.error_set = [](tenon_error* error, const tenon_error_info* info) {
      if (error == nullptr) return;
      error->code = info->code;
      error->message = std::string(View(info->message));
      if (TENON_HAS_FIELD(info, tenon_error_info, requested_bytes)) error->requested_bytes = info->requested_bytes;
    };
    api.log = [](tenon_host* host, uint32_t, tenon_str, tenon_str text, uint32_t) {
      From(host).log_lines.emplace_back(View(text));
    };
    api.mem_alloc = [](tenon_host*, uint64_t bytes, uint64_t align, tenon_str, void** out, tenon_error*) -> int32_t {
      *out = bytes == 0 ? nullptr : std::aligned_alloc(align, (bytes + align - 1) / align * align);
      return *out != nullptr || bytes == 0 ? TENON_OK : TENON_RESOURCE_EXHAUSTED;
    };
    api.mem_free = [](tenon_host*, void* memory) { std::free(memory); };
    api.thread_budget = [](tenon_host*) -> uint32_t { return 1; };
    api.parallel_for = [](tenon_host*, uint64_t count, uint64_t, uint32_t, tenon_range_fn body, void* user,
                          tenon_error*) -> int32_t {
      if (count > 0) body(user, 0, count, 0);
      return TENON_OK;
    };
    api.submit = [](tenon_host*, tenon_task_fn task, void* user, tenon_task_fn release, tenon_error*) -> int32_t {
      task(user);
      if (release != nullptr) release(user);
      return TENON_OK;
    };
    api.complete = [](tenon_host*, tenon_token* token, int32_t code, tenon_str) {
      ++token->completions;
      token->code = code;
    };
    api.cancelled = [](const tenon_cancel*) -> uint32_t { return 0; };
    api.option_i64 = [](tenon_host* host, tenon_str key, int64_t fallback, int64_t low, int64_t high, tenon_str,
                        int64_t* out, tenon_error* error) -> int32_t {
      const auto found = From(host).int_options.find(std::string(View(key)));
      *out = found == From(host).int_options.end() ? fallback : found->second;
      if (*out >= low && *out <= high) return TENON_OK;
      if (error != nullptr) error->message = "option out of range";
      return TENON_INVALID_ARGUMENT;
    };
    api.option_f64 = [](tenon_host*, tenon_str, double fallback, tenon_str, double* out, tenon_error*) -> int32_t {
      *out = fallback;
      return TENON_OK;
    };
    api.option_flag = [](tenon_host*, tenon_str, uint32_t fallback, tenon_str, uint32_t* out, tenon_error*) -> int32_t {
      *out = fallback;
      return TENON_OK;
    };
    api.option_text = [](tenon_host*, tenon_str, tenon_str fallback, tenon_str, tenon_str* out,
                         tenon_error*) -> int32_t {
      *out = fallback;
      return TENON_OK;
    };
    api.clock_ns = [](tenon_host*) -> uint64_t {
      static uint64_t now = 1000;
      return now += 10;
    };
    api.intern = [](tenon_host*, tenon_str) -> uint64_t { return 1; };
  }
  static MiniHost& From(tenon_host* host) { return *reinterpret_cast<MiniHost*>(host); }
};

// One interface of a descriptor, or NULL.
template <typename Vtable>
const Vtable* FindInterface(const tenon_plugin_descriptor& descriptor, std::string_view id) {
  const char* record = reinterpret_cast<const char*>(descriptor.interfaces);
  for (uint32_t i = 0; i < descriptor.interface_count; ++i, record += descriptor.interface_stride) {
    const auto* interface = reinterpret_cast<const tenon_interface*>(record);
    if (View(interface->id) == id) return static_cast<const Vtable*>(interface->vtable);
  }
  return nullptr;
}

// Row-major view of host memory.
inline tenon_tensor ViewOf(const void* data, uint32_t dtype, const std::vector<int64_t>& dims) {
  tenon_tensor view = TENON_INIT(tenon_tensor);
  view.flags = TENON_TENSOR_HOST_ACCESSIBLE;
  view.address = reinterpret_cast<uintptr_t>(data);
  view.dtype = dtype;
  view.rank = static_cast<uint32_t>(dims.size());
  view.dims = dims.data();
  return view;
}
inline tenon_value_desc DescOf(uint32_t dtype, const std::vector<int64_t>& dims) {
  tenon_value_desc desc = TENON_INIT(tenon_value_desc);
  desc.dtype = dtype;
  desc.rank = static_cast<uint32_t>(dims.size());
  desc.dims = dims.data();
  return desc;
}

}  // namespace tenon::test

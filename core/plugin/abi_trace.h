#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/status.h"
#include "tenon/abi/types.h"

namespace tenon {

// TENON_ABI_TRACE=file: every call from the core into a plugin becomes one line
//
//   <seconds since the start> <thread> tenon.device.open(0x5581d0, 0, 0x7ffc10, 0x7ffc20) = 0 OK 1234 ns
//
// Off (the usual case) a call costs one load and one branch more than the bare call.
namespace internal {
extern std::atomic<bool> g_abi_trace_on;

void AppendTraced(std::string* line, std::int64_t value);
void AppendTraced(std::string* line, std::uint64_t value);
void AppendTraced(std::string* line, double value);
void AppendTraced(std::string* line, const void* value);
void AppendTraced(std::string* line, tenon_str value);

template <class A>
void AppendArgument(std::string* line, const A& argument) {
  if (line->back() != '(') *line += ", ";
  if constexpr (std::is_same_v<A, tenon_str>) {
    AppendTraced(line, argument);
  } else if constexpr (std::is_pointer_v<A>) {
    if constexpr (std::is_function_v<std::remove_pointer_t<A>>) {
      AppendTraced(line, reinterpret_cast<const void*>(argument));
    } else {
      AppendTraced(line, static_cast<const void*>(argument));
    }
  } else if constexpr (std::is_floating_point_v<A>) {
    AppendTraced(line, static_cast<double>(argument));
  } else if constexpr (std::is_integral_v<A> && std::is_signed_v<A>) {
    AppendTraced(line, static_cast<std::int64_t>(argument));
  } else if constexpr (std::is_integral_v<A>) {
    AppendTraced(line, static_cast<std::uint64_t>(argument));
  } else {
    *line += "{...}";
  }
}

std::int64_t TraceClockNs();
void FinishTraceLine(std::string line, bool has_code, std::int32_t code, std::int64_t start_ns);
}  // namespace internal

// Opens the file named by TENON_ABI_TRACE, if any; done by the registry before the first plugin is opened. Later calls
// do nothing. INVALID_ARGUMENT when the file cannot be written.
Status StartAbiTraceFromEnv();
Status StartAbiTrace(const std::string& path);
void StopAbiTrace();

inline bool AbiTraceOn() { return internal::g_abi_trace_on.load(std::memory_order_relaxed); }

// CallAbi("tenon.device", "open", table->open, plugin, index, &device, error): the call itself, traced when asked for.
template <class R, class... P, class... A>
R CallAbi(const char* interface_id, const char* slot, R (*fn)(P...), A&&... arguments) {
  if (!AbiTraceOn()) return fn(std::forward<A>(arguments)...);
  std::string line = interface_id;
  line += '.';
  line += slot;
  line += '(';
  (internal::AppendArgument<P>(&line, static_cast<P>(arguments)), ...);
  line += ')';
  const std::int64_t start = internal::TraceClockNs();
  if constexpr (std::is_void_v<R>) {
    fn(std::forward<A>(arguments)...);
    internal::FinishTraceLine(std::move(line), false, 0, start);
  } else {
    R result = fn(std::forward<A>(arguments)...);
    if constexpr (std::is_same_v<R, std::int32_t>) {
      internal::FinishTraceLine(std::move(line), true, result, start);
    } else {
      internal::FinishTraceLine(std::move(line), false, 0, start);
    }
    return result;
  }
}

}  // namespace tenon

// Every call of the kit into the plugin goes through Call: it can be recorded (--repro prints the record), and an
// exception that leaves a slot is turned into a failure that names the slot.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "core/plugin/abi_trace.h"
#include "core/plugin/breach.h"
#include "tools/conform/case.h"
#include "tools/conform/last_call.h"

namespace tenon::conform {

// Where calls are recorded; before it returns, a call stands there without a result, so that one that never returns
// is the last line.
void StartRecord(Context* context, const std::string& file);
bool Recording();
void RecordCall(const std::string& line);
void RecordResult(const std::string& result);
// Ends the running case: `slot` let a C++ exception out.
[[noreturn]] void FailThrown(const char* slot, const char* what);
// Ends the running case with what the checking layer of the core saw.
void FailBreach(const Breach& breach);

template <class R, class... P, class... A>
R Call(const char* slot, R (*fn)(P...), A&&... arguments) {
  NoteSlot(slot);
  const bool recording = Recording();
  if (recording) {
    std::string line = slot;
    line += '(';
    (internal::AppendArgument<P>(&line, static_cast<P>(arguments)), ...);
    line += ')';
    RecordCall(line);
  }
  try {
    if constexpr (std::is_void_v<R>) {
      fn(static_cast<P>(arguments)...);
      if (recording) RecordResult("");
    } else {
      const R result = fn(static_cast<P>(arguments)...);
      if (recording) {
        if constexpr (std::is_integral_v<R>) {
          RecordResult(std::to_string(result));
        } else {
          RecordResult("(value)");
        }
      }
      return result;
    }
  } catch (const std::exception& thrown) {
    FailThrown(slot, thrown.what());
  } catch (...) {
    FailThrown(slot, "something that is no std::exception");
  }
}

// TENON_CALL(tenon.memory, table, alloc, space, ...)
#define TENON_CALL(interface, table, slot, ...) \
  ::tenon::conform::Call(#interface "." #slot, (table)->slot __VA_OPT__(, ) __VA_ARGS__)

}  // namespace tenon::conform

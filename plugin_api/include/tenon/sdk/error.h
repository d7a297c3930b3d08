// Errors towards the host. A function of the sdk takes an Error& and returns a code:
//
//   return error.Fail(TENON_INVALID_ARGUMENT, "The kernel size is ", size, "; at most ", limit, " is possible.");
//
// Exceptions are allowed inside a plugin: every entry into it runs under Guard, which turns them into codes.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "tenon/abi/host.h"
#include "tenon/sdk/text.h"

namespace tenon::sdk {

// Writes one call's error into the host's sink. Costs nothing until something fails.
class Error {
 public:
  Error(const tenon_host_api* host, tenon_error* sink) : host_(host), sink_(sink) {}

  // Puts the parts together as the message and returns the code.
  template <typename... Parts>
  int32_t Fail(int32_t code, const Parts&... parts) {
    const TextBuffer text(parts...);
    tenon_error_info info = TENON_INIT(tenon_error_info);
    info.code = code;
    info.message = Str(text.View());
    return Fail(info);
  }

  // Everything about the error, with the vendor's own code.
  int32_t Fail(const tenon_error_info& info) {
    if (host_ != nullptr && sink_ != nullptr) host_->error_set(sink_, &info);
    return info.code;
  }

  // A failed allocation, in bytes; 0 where a number is not known.
  int32_t OutOfMemory(std::string_view space, uint64_t requested, uint64_t free, uint64_t total, uint64_t largest) {
    const TextBuffer text("Cannot allocate ", requested, " bytes of ", space, " memory; ", free, " of ", total,
                          " bytes are free.");
    tenon_error_info info = TENON_INIT(tenon_error_info);
    info.code = TENON_RESOURCE_EXHAUSTED;
    info.message = Str(text.View());
    info.requested_bytes = requested;
    info.free_bytes = free;
    info.total_bytes = total;
    info.largest_free_bytes = largest;  // last member
    return Fail(info);
  }

  tenon_error* sink() const { return sink_; }
  const tenon_host_api* host() const { return host_; }

 private:
  const tenon_host_api* host_;
  tenon_error* sink_;
};

// Exception with a code, for code that is easier to write with exceptions.
class Failure : public std::runtime_error {
 public:
  template <typename... Parts>
  explicit Failure(int32_t code, const Parts&... parts)
      : std::runtime_error(std::string(TextBuffer(parts...).View())), code_(code) {}
  int32_t code() const { return code_; }

 private:
  int32_t code_;
};

// Turns the exception that is being handled into a code. Only inside a catch block.
inline int32_t FailFromException(const tenon_host_api* host, tenon_error* sink) noexcept {
  Error error(host, sink);
  try {
    throw;
  } catch (const Failure& failure) {
    return error.Fail(failure.code(), std::string_view(failure.what()));
  } catch (const std::bad_alloc&) {
    return error.Fail(TENON_RESOURCE_EXHAUSTED, "The plugin ran out of host memory.");
  } catch (const std::exception& exception) {
    return error.Fail(TENON_INTERNAL, "Unexpected exception in the plugin: ", std::string_view(exception.what()));
  } catch (...) {
    return error.Fail(TENON_INTERNAL, "Unexpected exception of unknown type in the plugin.");
  }
}

// Runs body(error), which returns a code; exceptions become codes.
template <typename Body>
int32_t Guard(const tenon_host_api* host, tenon_error* sink, Body&& body) noexcept {
  try {
    Error error(host, sink);
    return body(error);
  } catch (...) {
    return FailFromException(host, sink);
  }
}

// Fills an out-struct that may be smaller than this side's: writes at most its capacity and stores what was written.
template <typename T>
void CopyOut(const T& from, T* to) {
  const uint32_t capacity = to->struct_size;
  const uint32_t count = capacity < sizeof(T) ? capacity : static_cast<uint32_t>(sizeof(T));
  if (count < 8) return;
  std::memcpy(to, &from, count);
  to->struct_size = count;
}

}  // namespace tenon::sdk

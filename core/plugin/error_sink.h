#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/status.h"
#include "tenon/abi/types.h"

// The host's side of the opaque error sink of the ABI. Lives on the stack of the caller for one call; filling it allocates
// nothing, making it costs a few stores.
struct tenon_error {
  bool set = false;
  std::uint32_t flags = 0;
  std::int32_t code = 0;
  std::uint32_t domain_size = 0;
  std::uint32_t message_size = 0;
  std::int64_t vendor_code = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  char domain[48];
  char message[952];

  tenon_error() {}  // NOLINT: the text arrays stay unset on purpose
  std::string_view message_text() const { return {message, message_size}; }
  std::string_view domain_text() const { return {domain, domain_size}; }
};

namespace tenon {

// Copies `info` into the sink, cutting long text at a whole UTF-8 character. A NULL sink or info does nothing.
void FillError(tenon_error* error, const tenon_error_info* info) noexcept;

// Host-side shortcut: fills the sink and returns the code.
std::int32_t Fail(tenon_error* error, std::int32_t code, std::string_view message) noexcept;

// Code of core for a number that came from a plugin; UNKNOWN for numbers that this host does not know.
Code CodeFromAbi(std::int32_t code);

// OK for 0, else a Status: "<message> (<domain> <vendor code>; asked for 3 MB, free 1 MB of 2 MB)". Without a message
// the text says that no reason was given. `subject` ("plugin com.vendor.npu", a file name) comes first with a colon;
// it may be empty.
Status ToStatus(std::int32_t code, const tenon_error& error, std::string_view subject);

inline std::string_view View(tenon_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}
inline tenon_str ToStr(std::string_view text) { return tenon_str{text.data(), text.size()}; }

}  // namespace tenon

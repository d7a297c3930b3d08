#include "core/plugin/error_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace tenon {

namespace {

// Bytes of `text` that fit, without a torn character at the end.
std::uint32_t Fit(tenon_str text, std::size_t capacity) noexcept {
  if (text.data == nullptr) return 0;
  std::size_t size = std::min<std::uint64_t>(text.size, capacity);
  if (size < text.size) {
    while (size > 0 && (static_cast<unsigned char>(text.data[size]) & 0xc0U) == 0x80U) --size;
  }
  return static_cast<std::uint32_t>(size);
}

std::string Megabytes(std::uint64_t bytes) { return fmt::format("{:.4g} MB", static_cast<double>(bytes) / 1048576.0); }

std::string Details(const tenon_error& error) {
  std::string text;
  if (error.domain_size > 0 || error.vendor_code != 0)
    text = fmt::format("{} {}", error.domain_text(), error.vendor_code);
  if (error.requested_bytes != 0) {
    text += fmt::format("{}asked for {}", text.empty() ? "" : "; ", Megabytes(error.requested_bytes));
    if (error.total_bytes != 0)
      text += fmt::format(", free {} of {}", Megabytes(error.free_bytes), Megabytes(error.total_bytes));
    if (error.largest_free_bytes != 0)
      text += fmt::format(", largest free block {}", Megabytes(error.largest_free_bytes));
  }
  return text;
}

}  // namespace

void FillError(tenon_error* error, const tenon_error_info* info) noexcept {
  if (error == nullptr || info == nullptr) return;
  // A plugin built with older headers gives a shorter struct.
  tenon_error_info full = TENON_INIT(tenon_error_info);
  std::memcpy(&full, info, std::min<std::size_t>(info->struct_size, sizeof(full)));
  error->set = true;
  error->flags = full.flags;
  error->code = full.code;
  error->vendor_code = full.vendor_code;
  error->requested_bytes = full.requested_bytes;
  error->free_bytes = full.free_bytes;
  error->total_bytes = full.total_bytes;
  error->largest_free_bytes = full.largest_free_bytes;
  error->domain_size = Fit(full.domain, sizeof(error->domain));
  error->message_size = Fit(full.message, sizeof(error->message));
  if (error->domain_size > 0) std::memcpy(error->domain, full.domain.data, error->domain_size);
  if (error->message_size > 0) std::memcpy(error->message, full.message.data, error->message_size);
}

std::int32_t Fail(tenon_error* error, std::int32_t code, std::string_view message) noexcept {
  tenon_error_info info = TENON_INIT(tenon_error_info);
  info.code = code;
  info.message = ToStr(message);
  FillError(error, &info);
  return code;
}

Code CodeFromAbi(std::int32_t code) {
  const Code known = static_cast<Code>(code);
  if (known == Code::kUnknown || CodeName(known) != CodeName(Code::kUnknown)) return known;
  return Code::kUnknown;
}

Status ToStatus(std::int32_t code, const tenon_error& error, std::string_view subject) {
  if (code == TENON_OK) return Status();
  const Code status_code = CodeFromAbi(code);
  std::string text = error.set && error.message_size > 0
                         ? std::string(error.message_text())
                         : fmt::format("no reason was given, only the code {} ({}).", code, CodeName(status_code));
  const std::string details = Details(error);
  if (!details.empty()) text += fmt::format(" ({})", details);
  return Status(status_code, subject.empty() ? text : fmt::format("{}: {}", subject, text));
}

}  // namespace tenon

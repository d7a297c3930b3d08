#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/platform/append_file.h"

namespace tenon {

// Curves for TensorBoard: records with masked CRC-32C around Event messages. One thread at a time; after the first
// records nothing is allocated.
class EventFile {
 public:
  // Makes <folder>/events.out.tfevents.<seconds>.<host>.<pid>.<number>. A resumed run tells readers to forget what
  // earlier files say about steps after `resume_step`.
  static Result<EventFile> Create(const std::string& folder, std::optional<std::int64_t> resume_step = std::nullopt);

  EventFile() = default;  // writes nothing

  // One point of the curve `tag`.
  Status AddScalar(std::int64_t step, std::string_view tag, double value);

  const std::string& path() const { return file_.path(); }

 private:
  Status WriteEvent(std::int64_t step, std::uint32_t field, std::string_view content);

  AppendFile file_;
  std::string value_, summary_, event_, record_;  // kept for their capacity
};

// CRC-32C (Castagnoli) continued from `crc`; start with 0.
std::uint32_t Crc32c(std::uint32_t crc, std::string_view data);
// The form in which TFRecord files hold a CRC.
std::uint32_t MaskedCrc32c(std::string_view data);

}  // namespace tenon

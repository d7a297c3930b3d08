#include "core/train/event_file.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>

#include "core/base/host_name.h"
#include "core/train/wire_reader.h"

namespace tenon {
namespace {

// Field numbers of Event, Summary, Summary.Value and SessionLog.
constexpr std::uint32_t kEventWallTime = 1;
constexpr std::uint32_t kEventStep = 2;
constexpr std::uint32_t kEventFileVersion = 3;
constexpr std::uint32_t kEventSummary = 5;
constexpr std::uint32_t kEventSessionLog = 7;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1;
constexpr std::uint32_t kValueSimple = 2;
constexpr std::uint32_t kSessionStatus = 1;
constexpr std::uint64_t kSessionStart = 1;

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = MakeTable();

void AppendLittleEndian(std::string* out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

void AppendFixed(std::string* out, std::uint32_t number, std::uint64_t value, int bytes) {
  AppendVarint(out, (std::uint64_t{number} << 3) | (bytes == 8 ? 1U : 5U));
  AppendLittleEndian(out, value, bytes);
}

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

std::uint32_t Crc32c(std::uint32_t crc, std::string_view data) {
  crc = ~crc;
  for (const char c : data) crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t MaskedCrc32c(std::string_view data) {
  const std::uint32_t crc = Crc32c(0, data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

Result<EventFile> EventFile::Create(const std::string& folder, std::optional<std::int64_t> resume_step) {
  static std::atomic<int> counter{0};
  EventFile file;
  const std::string path = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder,
                                       static_cast<std::int64_t>(Now()), HostName(), getpid(), counter++);
  TENON_ASSIGN(file.file_, AppendFile::Open(path, true));
  for (std::string* buffer : {&file.value_, &file.summary_, &file.event_, &file.record_}) buffer->reserve(512);
  TENON_TRY(file.WriteEvent(0, kEventFileVersion, "brain.Event:2"));
  if (resume_step) {
    std::string start;
    AppendVarint(&start, kSessionStatus << 3);
    AppendVarint(&start, kSessionStart);
    TENON_TRY(file.WriteEvent(*resume_step + 1, kEventSessionLog, start));
  }
  return file;
}

Status EventFile::AddScalar(std::int64_t step, std::string_view tag, double value) {
  value_.clear();
  AppendFieldHead(&value_, kValueTag, tag.size());
  value_.append(tag);
  AppendFixed(&value_, kValueSimple, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
  summary_.clear();
  AppendFieldHead(&summary_, kSummaryValue, value_.size());
  summary_.append(value_);
  return WriteEvent(step, kEventSummary, summary_);
}

Status EventFile::WriteEvent(std::int64_t step, std::uint32_t field, std::string_view content) {
  event_.clear();
  AppendFixed(&event_, kEventWallTime, std::bit_cast<std::uint64_t>(Now()), 8);
  if (step != 0) {
    AppendVarint(&event_, kEventStep << 3);
    AppendVarint(&event_, static_cast<std::uint64_t>(step));
  }
  AppendFieldHead(&event_, field, content.size());
  event_.append(content);

  record_.clear();
  AppendLittleEndian(&record_, event_.size(), 8);
  AppendLittleEndian(&record_, MaskedCrc32c(record_), 4);
  record_.append(event_);
  AppendLittleEndian(&record_, MaskedCrc32c(event_), 4);
  return file_.Append(record_);
}

}  // namespace tenon

#include "hccl/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "hccl/fault.h"

namespace tenon::hccl {
namespace {

const char* Find(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

Fault Bad(const char* name, const char* value, const std::string& range) {
  return MakeFault(TENON_INVALID_ARGUMENT, Ei::kEnvironment,
                   std::string("Environment variable ") + name + " is '" + value + "'; it must be " + range + ".");
}

// Whole seconds in [low, high]; `seconds` stays when the variable is not set.
bool ReadSeconds(const char* name, int64_t low, int64_t high, int64_t* seconds) {
  const char* text = Find(name);
  if (text == nullptr) return false;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, *seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || *seconds < low || *seconds > high)
    throw Bad(name, text, "a whole number of seconds from " + std::to_string(low) + " to " + std::to_string(high));
  return true;
}

double ReadScale() {
  constexpr const char* kName = "HCCL_SIM_TIMEOUT_SCALE";
  const char* text = Find(kName);
  if (text == nullptr) return 1;
  char* end = nullptr;
  const double scale = std::strtod(text, &end);
  if (*end != '\0' || !(scale > 0) || scale > 1) throw Bad(kName, text, "a number above 0 and up to 1");
  return scale;
}

bool ReadRealtime() {
  constexpr const char* kName = "TENON_HCCL_PRIORITY";
  const char* text = Find(kName);
  if (text == nullptr || std::strcmp(text, "normal") == 0) return false;
  if (std::strcmp(text, "realtime") != 0) throw Bad(kName, text, "normal or realtime");
  return true;
}

// What reduce/routines.cc reads.
void CheckIsa() {
  constexpr const char* kName = "TENON_HCCL_ISA";
  const char* text = Find(kName);
  if (text == nullptr) return;
  for (const char* known : {"sse2", "avx2", "avx512"}) {
    if (std::strcmp(text, known) == 0) return;
  }
  throw Bad(kName, text, "sse2, avx2 or avx512");
}

std::string Text(const char* name) {
  const char* text = Find(name);
  return text == nullptr ? "" : text;
}

}  // namespace

Environment ReadEnvironment() {
  Environment read;
  int64_t connect = 120, exec = 1836;
  read.connect_given = ReadSeconds("HCCL_CONNECT_TIMEOUT", 120, 7200, &connect);
  read.exec_given = ReadSeconds("HCCL_EXEC_TIMEOUT", 0, 17340, &exec);
  // The hardware counts in steps of 68 s.
  if (exec > 0) exec = exec < 68 ? 68 : exec / 68 * 68;
  const double scale = ReadScale() * 1e9;
  read.connect_ns = static_cast<uint64_t>(static_cast<double>(connect) * scale);
  read.exec_ns = static_cast<uint64_t>(static_cast<double>(exec) * scale);
  read.rank_table = Text("RANK_TABLE_FILE");
  if (read.rank_table.empty()) read.rank_table = Text("MINDSPORE_HCCL_CONFIG_PATH");
  read.interface = Text("HCCL_SOCKET_IFNAME");
  read.address = Text("HCCL_IF_IP");
  read.realtime = ReadRealtime();
  CheckIsa();
  return read;
}

}  // namespace tenon::hccl

#include "core/plugin/abi_trace.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "core/base/env.h"
#include "core/platform/process.h"
#include "core/plugin/error_sink.h"

namespace tenon {

namespace internal {

std::atomic<bool> g_abi_trace_on{false};

namespace {

struct TraceFile {
  std::mutex mutex;
  std::FILE* file = nullptr;
  std::int64_t start_ns = 0;
};

TraceFile& File() {
  static auto* file = new TraceFile;  // plugins may be called from static destructors
  return *file;
}

int ThreadNumber() {
  static std::atomic<int> next{0};
  thread_local const int number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

void AppendTraced(std::string* line, std::int64_t value) { *line += fmt::format("{}", value); }
void AppendTraced(std::string* line, std::uint64_t value) { *line += fmt::format("{}", value); }
void AppendTraced(std::string* line, double value) { *line += fmt::format("{:g}", value); }
void AppendTraced(std::string* line, const void* value) {
  *line += value == nullptr ? "NULL" : fmt::format("{}", value);
}
void AppendTraced(std::string* line, tenon_str value) {
  const std::string_view text = View(value);
  *line += fmt::format("'{}{}'", text.substr(0, 40), text.size() > 40 ? "..." : "");
}

std::int64_t TraceClockNs() { return MonotonicRawNs(); }

void FinishTraceLine(std::string line, bool has_code, std::int32_t code, std::int64_t start_ns) {
  const std::int64_t end_ns = TraceClockNs();
  const int thread = ThreadNumber();
  TraceFile& trace = File();
  const std::lock_guard<std::mutex> lock(trace.mutex);
  if (trace.file == nullptr) return;
  const double seconds = static_cast<double>(start_ns - trace.start_ns) * 1e-9;
  const std::string result = has_code ? fmt::format(" = {} {}", code, CodeName(CodeFromAbi(code))) : "";
  const std::string text = fmt::format("{:.6f} {} {}{} {} ns\n", seconds, thread, line, result, end_ns - start_ns);
  // Line by line: the last lines before a crash are the interesting ones.
  std::fwrite(text.data(), 1, text.size(), trace.file);
  std::fflush(trace.file);
}

}  // namespace internal

Status StartAbiTrace(const std::string& path) {
  internal::TraceFile& trace = internal::File();
  const std::lock_guard<std::mutex> lock(trace.mutex);
  if (trace.file != nullptr) return Status();
  trace.file = std::fopen(path.c_str(), "w");
  if (trace.file == nullptr)
    return InvalidArgument("The trace of plugin calls cannot be written to {}: {}.", path, std::strerror(errno));
  trace.start_ns = internal::TraceClockNs();
  internal::g_abi_trace_on.store(true, std::memory_order_relaxed);
  return Status();
}

Status StartAbiTraceFromEnv() {
  const auto path = GetEnv("TENON_ABI_TRACE");
  if (!path || path->empty()) return Status();
  return StartAbiTrace(*path);
}

void StopAbiTrace() {
  internal::TraceFile& trace = internal::File();
  const std::lock_guard<std::mutex> lock(trace.mutex);
  internal::g_abi_trace_on.store(false, std::memory_order_relaxed);
  if (trace.file != nullptr) std::fclose(trace.file);
  trace.file = nullptr;
}

}  // namespace tenon

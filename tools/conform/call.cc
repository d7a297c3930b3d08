#include "tools/conform/call.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>

namespace tenon::conform {
namespace {

Context* g_context = nullptr;
int g_record = -1;

int ThreadNumber() {
  static std::atomic<int> next{0};
  thread_local const int number = next.fetch_add(1);
  return number;
}

void WriteLine(const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const ssize_t wrote = ::write(g_record, line.data(), line.size());
}

}  // namespace

void StartRecord(Context* context, const std::string& file) {
  g_context = context;
  if (!file.empty()) g_record = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

bool Recording() { return g_record >= 0; }

void RecordCall(const std::string& line) { WriteLine(fmt::format("[{}] {}", ThreadNumber(), line)); }

void RecordResult(const std::string& result) {
  WriteLine(result.empty() ? fmt::format("[{}]   returned", ThreadNumber())
                           : fmt::format("[{}]   = {}", ThreadNumber(), result));
}

void FailThrown(const char* slot, const char* what) {
  g_context->Fail(fmt::format("{} let a C++ exception out ({}); c.4 asks for a code.", slot, what));
}

void FailBreach(const Breach& breach) { g_context->Fail(breach.ToString()); }

}  // namespace tenon::conform

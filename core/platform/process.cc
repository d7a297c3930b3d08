#include "core/platform/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "core/platform/file_identity.h"

namespace tenon {

std::string ExecutablePath() {
  Result<std::string> path = RealPath("/proc/self/exe");
  return path.ok() ? *path : std::string();
}

std::string ExecutableFolder() { return ParentFolder(ExecutablePath()); }

bool IsSecureExec() { return ::getauxval(AT_SECURE) != 0; }

bool IsRoot() { return ::geteuid() == 0; }

void SetEnvDefault(const char* name, const std::string& value) { ::setenv(name, value.c_str(), /*overwrite=*/0); }

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}

std::int64_t MachineMemory() { return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * std::int64_t{::sysconf(_SC_PAGESIZE)}; }

std::int64_t PeakResidentMemory() {
  // Not getrusage: it goes on from what the process had as another program, a launcher's say.
  std::int64_t kilobytes = 0;
  std::FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return 0;
  for (char line[256]; std::fgets(line, sizeof line, status) != nullptr;) {
    if (std::sscanf(line, "VmHWM: %" SCNd64, &kilobytes) == 1) break;
  }
  std::fclose(status);
  return kilobytes * 1024;
}

std::int64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t MonotonicRawNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Error(Code::kPermissionDenied, "The folder {} cannot be made: {}.", path, error.message());
  return Status();
}

namespace {

// Reads until the writers are gone or the deadline passes. False on the deadline.
bool ReadAll(int descriptor, std::int64_t deadline_ns, std::string* out) {
  std::array<char, 4096> buffer;
  for (;;) {
    const std::int64_t left_ms = (deadline_ns - MonotonicNs()) / 1'000'000;
    if (left_ms <= 0) return false;
    pollfd poll_entry{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll_entry, 1, static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    out->append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<ChildResult> RunInChild(const std::function<int(int)>& work, int timeout_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error(Code::kResourceExhausted, "A pipe could not be made: {}.", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return Error(Code::kResourceExhausted, "A child process could not be started: {}.", std::strerror(errno));
  }
  if (child == 0) {
    ::close(ends[0]);
    ::_exit(work(ends[1]));
  }
  ::close(ends[1]);
  ChildResult result;
  result.timed_out = !ReadAll(ends[0], MonotonicNs() + std::int64_t{timeout_ms} * 1'000'000, &result.output);
  ::close(ends[0]);
  if (result.timed_out) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exited = WIFEXITED(status);
  if (result.exited) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

std::string SignalName(int number) {
  const char* name = ::sigabbrev_np(number);
  const char* text = ::sigdescr_np(number);
  return fmt::format("SIG{} ({})", name ? name : std::to_string(number), text ? text : "unknown");
}

}  // namespace tenon

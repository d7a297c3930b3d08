#include "tools/conform/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/platform/process.h"
#include "tools/conform/call.h"
#include "tools/conform/library.h"

namespace tenon::conform {
namespace {

// What the child is told; its own arguments, in this order.
std::vector<std::string> ChildArguments(const std::string& what, const CaseSettings& settings, int result_fd,
                                        int board_fd) {
  std::vector<std::string> arguments = {settings.self,
                                        kOneCase,
                                        what,
                                        std::to_string(result_fd),
                                        std::to_string(board_fd),
                                        settings.plugin,
                                        settings.record,
                                        settings.device,
                                        settings.long_runs ? "1" : "0"};
  arguments.insert(arguments.end(), settings.options.begin(), settings.options.end());
  return arguments;
}

struct ChildEnd {
  std::string output;
  bool timed_out = false;
  int status = 0;
  std::string last_call;
};

void ReadUntilEnd(int descriptor, int child, int timeout_s, ChildEnd* end) {
  const std::int64_t until = MonotonicNs() + std::int64_t{timeout_s} * 1'000'000'000;
  for (;;) {
    const std::int64_t left_ms = (until - MonotonicNs()) / 1'000'000;
    pollfd ready{descriptor, POLLIN, 0};
    const int count = left_ms <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left_ms));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) {
      end->timed_out = true;
      ::kill(-child, SIGKILL);
      return;
    }
    char buffer[4096];
    const ssize_t got = ::read(descriptor, buffer, sizeof(buffer));
    if (got <= 0) return;
    end->output.append(buffer, static_cast<std::size_t>(got));
  }
}

// Forks and executes; nothing of this process but the pipe reaches the child.
ChildEnd Spawn(const std::string& what, const CaseSettings& settings, int timeout_s) {
  ChildEnd end;
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return end;
  const LastCall board;
  std::vector<std::string> arguments = ChildArguments(what, settings, pipe_ends[1], board.fd());
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::fcntl(pipe_ends[1], F_SETFD, 0);
    ::fcntl(board.fd(), F_SETFD, 0);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // what plugins print must not mix with the report
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  ReadUntilEnd(pipe_ends[0], child, timeout_s, &end);
  ::close(pipe_ends[0]);
  ::waitpid(child, &end.status, 0);
  ::kill(-child, SIGKILL);  // ranks that a case started and did not end
  end.last_call = board.text();
  return end;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Of the two plugins that a case may call, the one that serves the slot.
std::string Served(const CaseSettings& settings, const std::string& slot) {
  const bool of_device =
      slot.rfind("tenon.device.", 0) == 0 || slot.rfind("tenon.memory.", 0) == 0 || slot.rfind("tenon.stream.", 0) == 0;
  return FileName(of_device && !settings.device.empty() ? settings.device : settings.plugin);
}

std::string DescribeEnd(const ChildEnd& end, int timeout_s, const CaseSettings& settings) {
  std::string last = "; it had not called the plugin yet";
  if (!end.last_call.empty())
    last = fmt::format("; the last call into {} was {}", Served(settings, end.last_call), end.last_call);
  if (end.timed_out) return fmt::format("It did not end within {} seconds{}.", timeout_s, last);
  if (WIFSIGNALED(end.status)) return fmt::format("Its process ended by {}{}.", SignalName(WTERMSIG(end.status)), last);
  return fmt::format("Its process ended early, with exit code {} and without a report{}.", WEXITSTATUS(end.status),
                     last);
}

std::string DescribeStatus(int status) {
  return WIFSIGNALED(status) ? SignalName(WTERMSIG(status)) : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

CaseResult RunCase(const Case& which, const CaseSettings& settings) {
  CaseResult result;
  result.which = &which;
  if (std::string_view(which.level) == "L2" && !settings.device.empty()) result.device = FileName(settings.device);
  const std::int64_t start = MonotonicNs();
  const int timeout_s = settings.long_runs ? 100000 : which.timeout_s;
  const ChildEnd end = Spawn(std::to_string(which.number), settings, timeout_s);
  result.ms = static_cast<double>(MonotonicNs() - start) * 1e-6;
  const auto report = nlohmann::json::parse(end.output, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) {
    result.message = DescribeEnd(end, timeout_s, settings);
    return result;
  }
  const std::string outcome = report.value("result", "");
  if (outcome == "passed") result.outcome = Outcome::kPassed;
  if (outcome == "skipped") result.outcome = Outcome::kSkipped;
  result.message = report.value("message", "");
  if (result.outcome != Outcome::kFailed && end.status != 0) {  // a sanitizer reported, or a thread fell over
    result.outcome = Outcome::kFailed;
    result.message = "Its checks were done, but its process did not end well: " + DescribeStatus(end.status) + ".";
  }
  return result;
}

void ApplyExceptions(const std::map<std::string, std::string>& exceptions, CaseResult* result) {
  const auto declared = exceptions.find(result->which->id());
  if (declared == exceptions.end()) return;
  if (result->outcome == Outcome::kFailed) {
    result->outcome = Outcome::kExcepted;
    result->message = fmt::format("{} ({})", declared->second, result->message);
  } else if (result->outcome == Outcome::kPassed) {
    result->outcome = Outcome::kFailed;
    result->message =
        fmt::format("It passes, but is declared as an exception ({}): remove the exception.", declared->second);
  }
}

Status WouldLoad(const CaseSettings& settings) {
  const ChildEnd end = Spawn("load", settings, 60);
  const auto report = nlohmann::json::parse(end.output, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) return Error(Code::kUnavailable, "{}", DescribeEnd(end, 60, settings));
  if (report.value("result", "") == "passed") return {};
  return Error(Code::kUnavailable, "{}", report.value("message", ""));
}

}  // namespace tenon::conform

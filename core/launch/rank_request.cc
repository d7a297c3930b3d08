#include "core/launch/rank_request.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>

#include "core/base/host_name.h"
#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

// The child's answer: "+4", or "-" with the code and the reason why not.
std::string Ask(const RankRequest& request) {
  const auto ask = [&]() -> Result<std::uint32_t> {
    TENON_ASSIGN(const rendezvous::Library* library, rendezvous::OpenLibrary());
    Rank node;
    node.address = request.address;
    node.port = request.port;
    node.job = request.job;
    node.generation = request.generation;
    node.node_name = HostName();
    rendezvous::JoinOptions options;
    options.limits = request.limits;
    return library->allot(node, request.workers, options);
  };
  const Result<std::uint32_t> first = ask();
  if (first.ok()) return fmt::format("+{}", *first);
  return fmt::format("-{} {}", static_cast<int>(first.status().code()), first.status().message());
}

Result<std::uint32_t> ReadAnswer(const std::string& text) {
  int number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = text.empty() ? std::from_chars_result{last, std::errc::invalid_argument}
                                         : std::from_chars(text.data() + 1, last, number);
  if (error != std::errc()) return Error(Code::kUnknown, "The process that asks for ranks ended without an answer.");
  if (text[0] == '+') return static_cast<std::uint32_t>(number);
  return Status(static_cast<Code>(number), std::string(end < last ? end + 1 : last, last));
}

// True when a signal came that ends a launcher.
bool Interrupted(int signals) {
  signalfd_siginfo info{};
  while (read(signals, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo != static_cast<std::uint32_t>(SIGCHLD)) return true;
  }
  return false;
}

}  // namespace

Result<std::uint32_t> RequestRanks(const RankRequest& request, int signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error(Code::kResourceExhausted, "A pipe cannot be made.");
  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    BecomeChild(SIGKILL, parent);
    const std::string answer = Ask(request);
    (void)!write(ends[1], answer.data(), answer.size());
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  bool interrupted = false;
  for (bool open = child > 0; open && !interrupted;) {
    pollfd watched[2] = {{ends[0], POLLIN, 0}, {signals, POLLIN, 0}};
    poll(watched, 2, -1);
    char chunk[4096];
    const ssize_t count = watched[0].revents != 0 ? read(ends[0], chunk, sizeof(chunk)) : -1;
    if (count > 0) answer.append(chunk, static_cast<std::size_t>(count));
    open = count != 0;
    interrupted = watched[1].revents != 0 && Interrupted(signals);
  }
  close(ends[0]);
  if (interrupted) kill(child, SIGKILL);
  if (child > 0) waitpid(child, nullptr, 0);
  if (interrupted) return Error(Code::kCancelled, "Interrupted while the scheduler was asked for ranks.");
  return ReadAnswer(answer);
}

}  // namespace tenon

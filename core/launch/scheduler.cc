#include "core/launch/scheduler.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

constexpr std::uint64_t kLookNs = 20'000'000;
constexpr std::int64_t kTellNs = 1'000'000'000;

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

// Lines from a descriptor that does not wait. False at its end.
bool ReadLines(int descriptor, std::string& buffer, std::vector<std::string>& lines) {
  char chunk[4096];
  ssize_t count = 0;
  while ((count = read(descriptor, chunk, sizeof(chunk))) > 0) buffer.append(chunk, static_cast<std::size_t>(count));
  for (std::size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
    lines.push_back(buffer.substr(0, end));
    buffer.erase(0, end + 1);
  }
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

// Nothing is said to a reader that has ended, and its end is no signal to the writer.
void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// The child: serves until nobody needs it.
class Process {
 public:
  Process(Scheduler::Options options, int in, int out) : options_(std::move(options)), in_(in), out_(out) {}

  int Run() {
    std::FILE* log = std::fopen(options_.log_file.c_str(), options_.serve.generation == 0 ? "w" : "a");
    options_.serve.log = [log](LogLevel level, const std::string& text) {
      if (log == nullptr) return;
      static const char* const kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
      std::fprintf(log, "[%s] %s\n", kNames[static_cast<int>(level)], text.c_str());
      std::fflush(log);
    };
    options_.serve.waiting = [this](const std::string& text) {
      options_.serve.log(LogLevel::kWarning, text);
      Say("waiting " + OneLine(text) + "\n");
    };
    const Result<const rendezvous::Library*> library = rendezvous::OpenLibrary();
    if (!library.ok()) return Refuse(library.status());
    Result<std::unique_ptr<rendezvous::Server>> server = (*library)->serve(options_.serve);
    if (!server.ok()) return Refuse(server.status());
    Say("ready\n");
    Serve(**server);
    server->reset();
    // Threads of the network library may still wind down: no destructors of the process.
    if (log != nullptr) std::fflush(log);
    _exit(0);
  }

 private:
  void Say(const std::string& text) const { WriteAll(out_, text); }
  int Refuse(const Status& status) {
    Say("refused " + OneLine(status.message()) + "\n");
    options_.serve.log(LogLevel::kError, status.ToString());
    return 1;
  }

  void Serve(rendezvous::Server& server) {
    bool told = false;
    for (;;) {
      if (told) usleep(static_cast<useconds_t>(kLookNs / 1000));
      const bool all_left = server.WaitAllLeft(told ? 0 : kLookNs);
      Listen(server);
      if (!complete_ && server.Complete()) {
        complete_ = true;
        Say("complete\n");
      }
      if (!told && !server.failure().ok()) {
        told = true;
        Say(fmt::format("failed {}\n", OneLine(server.failure().message())));
        failed_at_ = MonotonicNs();
      }
      if (absent_ && !complete_ && !told && server.AnyonePresent())
        server.AbortRank(*absent_, "ended with exit code 0 before all ranks had met");
      if (all_left) break;
      if (Deserted() && !server.AnyonePresent()) {
        options_.serve.log(LogLevel::kInfo, "All workers have ended, and none is waiting here.");
        break;
      }
      if (done_ && !told && !server.AnyonePresent()) break;
      // A failed run needs it no longer than its ranks take to hear of it; some may still be about to come.
      const bool watched = options_.attended && !done_;
      if (!watched && told && (server.AllHeard() || MonotonicNs() - failed_at_ > kTellNs)) break;
    }
  }

  // Of a job that nobody watches: have all workers ended that the launcher named?
  bool Deserted() {
    if (options_.attended || workers_.empty()) return false;
    return std::all_of(workers_.begin(), workers_.end(), [](int worker) {
      pollfd watched{worker, POLLIN, 0};
      return worker < 0 || poll(&watched, 1, 0) == 1;
    });
  }

  void Listen(rendezvous::Server& server) {
    std::vector<std::string> lines;
    ReadLines(in_, buffer_, lines);
    for (const std::string& line : lines) {
      std::uint32_t number = 0;
      const std::size_t space = line.find(' ');
      const char* begin = line.data() + std::min(space, line.size() - 1) + 1;
      const auto end = std::from_chars(begin, line.data() + line.size(), number);
      if (line.rfind("worker", 0) == 0 && end.ec == std::errc()) {
        workers_.push_back(static_cast<int>(syscall(SYS_pidfd_open, number, 0)));
      } else if (line == "done") {
        done_ = true;
      } else if (line.rfind("absent", 0) == 0 && end.ec == std::errc()) {
        absent_ = absent_.value_or(number);
      } else if (line.rfind("lost", 0) == 0 && end.ec == std::errc()) {
        server.AbortRank(number, std::string(Trim(end.ptr)));
      }
    }
  }

  Scheduler::Options options_;
  int in_, out_;
  std::vector<int> workers_;  // descriptors of their processes; below 0: gone before
  std::string buffer_;
  bool done_ = false, complete_ = false;
  std::optional<std::uint32_t> absent_;  // the first rank that ended well, before all had met if they have not by then
  std::int64_t failed_at_ = 0;
};

// Two ends that are connected; those of the launcher are not inherited by workers, and do not wait.
bool Connect(int (&ends)[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0; }

}  // namespace

Result<Scheduler> Scheduler::Start(const Options& options) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  if (!Connect(down) || !Connect(up))
    return Error(Code::kResourceExhausted, "A connection to the scheduler cannot be made: {}.", std::strerror(errno));
  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    BecomeChild(options.attended ? SIGKILL : 0, parent);
    std::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "msrun-scheduler");
    close(down[1]);
    close(up[0]);
    _exit(Process(options, down[0], up[1]).Run());
  }
  close(down[0]);
  close(up[1]);
  if (child < 0) return Error(Code::kResourceExhausted, "The scheduler cannot be started: {}.", std::strerror(errno));
  setpgid(child, child);
  Scheduler scheduler;
  scheduler.process_ = child;
  scheduler.to_ = down[1];
  scheduler.from_ = up[0];
  return scheduler;
}

Scheduler& Scheduler::operator=(Scheduler&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(to_, other.to_);
  std::swap(from_, other.from_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Scheduler::~Scheduler() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
}

std::vector<Scheduler::News> Scheduler::Read() {
  std::vector<std::string> lines;
  if (from_ >= 0 && !ReadLines(from_, buffer_, lines)) {
    close(from_);
    from_ = -1;
  }
  std::vector<News> news;
  for (const std::string& line : lines) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space);
    News one{News::Kind::kReady, std::nullopt, space < line.size() ? line.substr(space + 1) : ""};
    if (word == "complete") one.kind = News::Kind::kComplete;
    if (word == "waiting") one.kind = News::Kind::kWaiting;
    if (word == "refused") one.kind = News::Kind::kRefused;
    if (word == "failed") one.kind = News::Kind::kFailed;
    // "rank 2 on 'host' ...": messages of the board begin with the rank that they are about.
    std::uint32_t rank = 0;
    if (one.text.rfind("rank ", 0) == 0 &&
        std::from_chars(one.text.data() + 5, one.text.data() + one.text.size(), rank).ec == std::errc())
      one.rank = rank;
    news.push_back(std::move(one));
  }
  return news;
}

void Scheduler::Send(const std::string& line) {
  if (to_ >= 0) WriteAll(to_, line);
}

void Scheduler::TellLost(std::uint32_t rank, const std::string& what_happened) {
  Send(fmt::format("lost {} {}\n", rank, OneLine(what_happened)));
}

void Scheduler::TellAbsent(std::uint32_t rank) { Send(fmt::format("absent {}\n", rank)); }

void Scheduler::TellWorkers(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) Send(fmt::format("worker {}\n", process));
}

void Scheduler::TellDone() { Send("done\n"); }

}  // namespace tenon

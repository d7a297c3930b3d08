#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/comm/rendezvous/library.h"

namespace tenon {

// The process that serves the rendezvous of a job beside its workers, as `msrun` has it. It is forked from the launcher,
// and only there the network library is opened: the launcher itself stays without threads and can start processes.
class Scheduler {
 public:
  struct Options {
    rendezvous::ServeOptions serve;  // `log` is not used
    std::string log_file;
    bool attended = true;  // the launcher watches it, and it ends with it; else it ends by itself
  };
  // What it tells the launcher.
  struct News {
    enum class Kind { kReady, kWaiting, kComplete, kRefused, kFailed } kind;
    std::optional<std::uint32_t> rank;  // of kFailed: the rank that failed first, when it is known
    std::string text;
  };

  // Returns once the process is there; that it listens is its first news.
  static Result<Scheduler> Start(const Options& options);
  Scheduler() = default;
  Scheduler(Scheduler&& other) noexcept { *this = std::move(other); }
  Scheduler& operator=(Scheduler&& other) noexcept;
  ~Scheduler();  // closes the pipes; the process is the business of the caller

  pid_t process() const { return process_; }
  int descriptor() const { return from_; }  // readable when there is news
  // Whole lines that have come; never waits.
  std::vector<News> Read();
  // Tells all ranks that one has ended, and how.
  void TellLost(std::uint32_t rank, const std::string& what_happened);
  // The process of a rank has ended with exit code 0. When ranks wait to meet it, the run has failed: it will not come.
  void TellAbsent(std::uint32_t rank);
  // To one that nobody watches: when these have ended, nobody needs it.
  void TellWorkers(const std::vector<pid_t>& processes);
  // All workers of this node have ended: the process ends when no other node needs it.
  void TellDone();

 private:
  void Send(const std::string& line);

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
};

}  // namespace tenon

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/comm/rank.h"
#include "tests/support/temp_folder.h"

namespace tenon::testing_support {

// A port of this machine that nothing listens on.
inline std::uint16_t FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  socklen_t bytes = sizeof(address);
  getsockname(probe, reinterpret_cast<sockaddr*>(&address), &bytes);
  close(probe);
  return ntohs(address.sin_port);
}

inline Rank RankOfTest(std::uint32_t rank, std::uint32_t size, std::uint16_t port) {
  Rank made;
  made.rank = made.local_rank = rank;
  made.size = made.local_size = size;
  made.source = "a test";
  made.address = "127.0.0.1";
  made.port = port;
  made.node_name = "testhost";
  return made;
}

// Processes of one run, forked before this one has used anything of the network. What `work` returns is the text
// that the parent sees; a text that is empty means that the process ended without one.
class RankProcesses {
 public:
  using Work = std::function<std::string(std::uint32_t rank)>;

  RankProcesses(std::uint32_t size, const Work& work) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const pid_t child = fork();
      if (child != 0) {
        children_.push_back(child);
        continue;
      }
      WriteFile(PathOf(rank), work(rank));
      _exit(0);
    }
  }
  ~RankProcesses() {
    for (const pid_t child : children_) {
      if (child > 0) kill(child, SIGKILL);
    }
    WaitAll();
  }

  void Signal(std::uint32_t rank, int number) const { kill(children_[rank], number); }

  std::string TextOf(std::uint32_t rank) {
    WaitFor(rank);
    return ReadFile(PathOf(rank));
  }
  void WaitAll() {
    for (std::uint32_t rank = 0; rank < children_.size(); ++rank) WaitFor(rank);
  }

 private:
  std::string PathOf(std::uint32_t rank) const { return folder_ / std::to_string(rank); }
  void WaitFor(std::uint32_t rank) {
    if (children_[rank] > 0) waitpid(children_[rank], nullptr, 0);
    children_[rank] = -1;
  }

  TempFolder folder_;
  std::vector<pid_t> children_;
};

}  // namespace tenon::testing_support

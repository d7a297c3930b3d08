#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/run_case.h"

namespace tenon::testing_support {

// A TCP port of this machine that nobody uses now.
inline int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), length);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  close(listener);
  return ntohs(address.sin_port);
}

// A run of several processes, told their ranks as torchrun does. The results, by rank.
inline std::vector<ToolResult> TrainOnRanks(const RunCase& run, int ranks,
                                            const std::vector<std::string>& settings = {},
                                            const std::vector<std::string>& flags = {}) {
  const std::vector<std::pair<std::string, std::string>> common = {{"WORLD_SIZE", std::to_string(ranks)},
                                                                   {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                                   {"MASTER_ADDR", "127.0.0.1"},
                                                                   {"MASTER_PORT", std::to_string(FreePort())}};
  for (const auto& [name, value] : common) setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::unique_ptr<ToolProcess>> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, std::to_string(rank).c_str(), 1);
    processes.push_back(std::make_unique<ToolProcess>(run.Words(settings, flags)));
  }
  for (const char* name : {"RANK", "LOCAL_RANK"}) unsetenv(name);
  for (const auto& variable : common) unsetenv(variable.first.c_str());
  std::vector<ToolResult> results;
  for (const auto& process : processes) results.push_back(process->Wait());
  return results;
}

}  // namespace tenon::testing_support

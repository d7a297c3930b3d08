#include "tests/plugins/comm_hccl_sim/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace tenon::testing_support {

Workers::Workers(const WorkerPlan& plan) : plan_(plan), children_(plan.size, -1) {
  if (plan_.nodes.empty()) plan_.nodes.assign(plan_.size, 0);
  for (std::uint32_t rank = 0; rank < plan_.size; ++rank) {
    if (std::find(plan_.left_out.begin(), plan_.left_out.end(), rank) == plan_.left_out.end()) Start(rank);
  }
}

Workers::~Workers() {
  for (pid_t child : children_) {
    if (child <= 0) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

void Workers::StartLate(std::uint32_t rank) { Start(rank); }

void Workers::Start(std::uint32_t rank) {
  const int store = server_.Connect();
  const pid_t child = fork();
  if (child != 0) {
    close(store);
    children_[rank] = child;
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int output = open(PathOf(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : plan_.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> words;
  std::string before, word, nodes;
  if (!plan_.before.empty()) before = plan_.before[plan_.nodes[rank]];
  std::istringstream in(before);
  while (in >> word) words.push_back(word);
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) _exit(71);
  for (const std::uint32_t node : plan_.nodes) nodes += std::to_string(node) + " ";
  for (const std::string& one : {std::string(self), std::string("worker"), plan_.scenario, std::to_string(rank),
                                 std::to_string(plan_.size), nodes, std::to_string(dup(store)), plan_.extra})
    words.push_back(one);
  std::vector<char*> arguments;
  for (std::string& one : words) arguments.push_back(one.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(72);
}

void Workers::Signal(std::uint32_t rank, int number) const { kill(children_[rank], number); }

bool Workers::Printed(std::uint32_t rank, const std::string& text) const {
  for (int i = 0; i < 4000; ++i) {
    if (ReadFile(PathOf(rank)).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Workers::Result Workers::Wait(std::uint32_t rank) {
  int status = 0;
  waitpid(children_[rank], &status, 0);
  children_[rank] = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ReadFile(PathOf(rank))};
}

WorkerArguments ParseWorker(char** argv) {
  WorkerArguments arguments;
  arguments.scenario = argv[2];
  arguments.rank = static_cast<std::uint32_t>(std::atoi(argv[3]));
  arguments.size = static_cast<std::uint32_t>(std::atoi(argv[4]));
  std::istringstream nodes(argv[5]);
  for (std::uint32_t node = 0; nodes >> node;) arguments.nodes.push_back(node);
  arguments.store = std::atoi(argv[6]);
  arguments.extra = argv[7];
  return arguments;
}

}  // namespace tenon::testing_support

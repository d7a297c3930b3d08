#include "core/platform/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

namespace tenon {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void BindTo(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) _exit(126);
}

// The child's half; `failed` gets the error number when the program cannot be executed.
[[noreturn]] void Execute(const SpawnOptions& options, pid_t parent, int failed) {
  setpgid(0, 0);
  BecomeChild(options.death_signal, parent);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  if (options.output >= 0) {
    dup2(options.output, STDOUT_FILENO);
    dup2(options.output, STDERR_FILENO);
  }
  BindTo(options.cores);
  const std::vector<char*> arguments = Pointers(options.arguments), environment = Pointers(options.environment);
  execve(arguments[0], arguments.data(), environment.data());
  const int error = errno;
  (void)!write(failed, &error, sizeof(error));
  _exit(127);
}

std::string WhyNotStarted(int error) {
  if (error == ENOENT) return "it is not there, or the interpreter that its first line names is not";
  if (error == ENOEXEC) return "it is no program of this machine, and its first line names no interpreter (#!)";
  return std::strerror(error);
}

// Id of the parent, from the fourth field of /proc/<pid>/stat; the second may hold spaces and brackets.
pid_t ParentOf(std::string_view pid) {
  std::ifstream file("/proc/" + std::string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos || close + 4 >= line.size()) return -1;
  pid_t parent = -1;
  std::from_chars(line.data() + close + 4, line.data() + line.size(), parent);
  return parent;
}

}  // namespace

void BecomeChild(int death_signal, pid_t parent) {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (death_signal == 0) return;
  prctl(PR_SET_PDEATHSIG, death_signal);
  if (getppid() != parent) _exit(128 + death_signal);
}

Result<pid_t> Spawn(const SpawnOptions& options) {
  int failed[2];
  if (pipe2(failed, O_CLOEXEC) != 0)
    return Error(Code::kResourceExhausted, "A pipe cannot be made: {}.", std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) Execute(options, parent, failed[1]);
  close(failed[1]);
  int error = child < 0 ? errno : 0;
  // Both sides set the group: whoever is first, it is there when Spawn returns.
  if (child > 0) setpgid(child, child);
  if (child > 0 && read(failed[0], &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error)))
    waitpid(child, nullptr, 0);
  close(failed[0]);
  if (error != 0)
    return Error(error == ENOENT || error == EACCES || error == ENOEXEC ? Code::kNotFound : Code::kResourceExhausted,
                 "'{}' cannot be started: {}.", options.arguments[0], WhyNotStarted(error));
  return child;
}

std::vector<pid_t> Descendants(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    children.emplace(ParentOf(name), pid);
  }
  closedir(folder);
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void KillDescendants() {
  for (;;) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> left = Descendants(getpid());
    if (left.empty()) return;
    for (const pid_t pid : left) kill(pid, SIGKILL);
    usleep(2000);
  }
}

std::vector<int> UsableCoreNumbers() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace tenon

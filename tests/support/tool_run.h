#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/build_folder.h"
#include "tests/support/temp_folder.h"

namespace tenon::testing_support {

// <build>/bin/<name>
inline std::string ToolPath(const std::string& name) { return BuildFolder() + "/bin/" + name; }

struct ToolResult {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out, err;
};

// A program of the build as a child process. Waits for it when it goes out of scope.
class ToolProcess {
 public:
  // `environment`: "NAME=value", on top of what this process has.
  explicit ToolProcess(std::vector<std::string> words, std::vector<std::string> environment = {}) {
    words[0] = ToolPath(words[0]);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    Redirect(folder_ / "out", STDOUT_FILENO);
    Redirect(folder_ / "err", STDERR_FILENO);
    for (std::string& variable : environment) putenv(variable.data());
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~ToolProcess() {
    if (pid_ > 0) Wait();
  }
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  pid_t id() const { return pid_; }
  void Signal(int number) const { kill(pid_, number); }

  // True while it runs; a program that has ended must still be waited for.
  bool Running() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }

  ToolResult Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    ToolResult result;
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    result.out = ReadFile(folder_ / "out");
    result.err = ReadFile(folder_ / "err");
    return result;
  }

 private:
  static void Redirect(const std::string& path, int descriptor) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, descriptor);
    close(file);
  }

  TempFolder folder_;
  pid_t pid_ = -1;
};

inline ToolResult RunTool(std::vector<std::string> words) { return ToolProcess(std::move(words)).Wait(); }

}  // namespace tenon::testing_support

#pragma once

#include <functional>
#include <string>

#include "core/base/status.h"

namespace tenon {

// Absolute path of the running program and the folder that holds it, links resolved.
std::string ExecutablePath();
std::string ExecutableFolder();

// True when the process has more rights than its caller (set-user-id and the like): the environment is not trusted.
bool IsSecureExec();

// True when the effective user is root.
bool IsRoot();

// Sets an environment variable unless the user did. Call from main, before threads exist.
void SetEnvDefault(const char* name, const std::string& value);

// Processor cores this process may use (affinity respected), at least 1.
int UsableCores();

// Bytes of main memory in the machine.
std::int64_t MachineMemory();
// The most that this process has had in main memory since its program started, in bytes; 0 where /proc does not tell.
std::int64_t PeakResidentMemory();

// Nanoseconds of a clock that never goes back.
std::int64_t MonotonicNs();
// The same from the unadjusted hardware clock: the time base of traces.
std::int64_t MonotonicRawNs();

// Makes a folder and those above it. OK when it is there already.
Status MakeFolders(const std::string& path);

// How a child process ended, and what it wrote to the pipe handed to it.
struct ChildResult {
  bool exited = false;  // by itself
  int exit_code = 0;
  int signal = 0;          // when ended by a signal
  bool timed_out = false;  // and killed
  std::string output;
};

// Forks, runs `work(write_descriptor)` in the child, ends the child with its return value (no destructors, no exit
// handlers) and collects what it wrote. Call while the process has one thread.
Result<ChildResult> RunInChild(const std::function<int(int write_descriptor)>& work, int timeout_ms);

// "SIGBUS (bus error)" for 7.
std::string SignalName(int number);

}  // namespace tenon

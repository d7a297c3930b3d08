#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

// A program to start as a child process.
struct SpawnOptions {
  std::vector<std::string> arguments;    // the first is a path
  std::vector<std::string> environment;  // "NAME=value", all of it
  int output = -1;                       // descriptor for standard output and error; -1: those of the caller
  int death_signal = 0;                  // sent to the child when the caller ends; 0: none
  std::vector<int> cores;                // it may use; empty: those of the caller
};

// Starts it in a process group of its own, with default signal handling and no input. An error names the program and the
// system's reason, when it cannot be executed.
Result<pid_t> Spawn(const SpawnOptions& options);

// In a child right after fork: default handling of all signals, and `death_signal` when the parent ends, which has
// happened already when its id is not `parent` any more.
void BecomeChild(int death_signal, pid_t parent);

// All processes below `ancestor` by now, children before theirs.
std::vector<pid_t> Descendants(pid_t ancestor);

// Makes the caller the parent of all descendants whose own parent ends, so that they can be found.
void AdoptOrphans();

// Sends SIGKILL to all descendants of the caller and waits for them, until there are none.
void KillDescendants();

// Core numbers that this process may use.
std::vector<int> UsableCoreNumbers();

}  // namespace tenon

// The host's thread pool as the routines see it.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Runs body(user, i) once for every i in [0, count), on any threads, and returns when all are done. `run` may be null:
// then everything happens on the calling thread. `threads` is how many bodies may run at once; routines cut their work
// into at most so many pieces, each with its own part of the workspace.
struct Parallel {
  using Body = void (*)(void* user, int64_t index);
  void (*run)(void* context, int64_t count, Body body, void* user) = nullptr;
  void* context = nullptr;
  int64_t threads = 1;
};

}  // namespace tenon::cpu

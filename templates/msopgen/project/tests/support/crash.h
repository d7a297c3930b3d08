// A test program that crashes says at which case.
#pragma once

#include <unistd.h>

#include <csignal>
#include <string>

namespace testing {

inline std::string crash_message;  // made before the case runs: a handler must not make it

inline void TellCrash(int signal) {
  static_cast<void>(!::write(STDOUT_FILENO, crash_message.data(), crash_message.size()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// From now on a crash is one of this case.
inline void ExpectCrashesOf(const std::string& name) {
  crash_message = "CRASHED  " + name + ": look for a place outside of an array; './build.sh debug' checks every one.\n";
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, &TellCrash);
}

}  // namespace testing

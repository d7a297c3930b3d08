#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/status.h"

namespace CLI {
class App;
}

// The face that every program of Tenon shares:
//   --help, --help --json        for the program and for each of its commands
//   --version, --version --json
// and the exit codes: 0 done; 1 failed or different; 2 wrong usage, config or input; 3 plugin or device not available.
//
//   int main(int argc, char** argv) {
//     const tenon::cli::Program program{"msrun", "Starts a job on this node.", TENON_VERSION_STRING};
//     if (const auto code = tenon::cli::AnswerVersion(program, argc, argv)) return *code;
//     CLI::App app;
//     std::function<int()> command;  // set by the callbacks of the sub-commands
//     ... options ...
//     return tenon::cli::Run(program, app, argc, argv, command);
//   }
//
// Only the file with main() and cli.cc include CLI11.
namespace tenon::cli {

struct Program {
  std::string name;
  std::string sentence;
  std::string version;
};

// Prints the version and returns the exit code when that was asked for; before anything else is set up, so that it
// takes no time.
std::optional<int> AnswerVersion(const Program& program, int argc, const char* const* argv);

// Answers --help; else parses, and calls `command`, which the callbacks have set. Wrong usage is told on standard error
// with the nearest flag, and gives 2. Too little memory, and standard output that cannot be written, are told and give 1.
int Run(const Program& program, CLI::App& app, int argc, char** argv, const std::function<int()>& command);

// The exit code for an error: 3 when a plugin or device is not available, 2 when the input was wrong, else 1.
int ExitCode(const Status& status);

// Prints an error to standard error and returns its exit code; 0 for OK.
int Report(const Status& status);

}  // namespace tenon::cli

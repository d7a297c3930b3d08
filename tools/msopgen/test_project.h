#pragma once

#include <string>

namespace tenon::msopgen {

struct TestOptions {
  std::string project = ".", input, cases, output, build = "build";
};

// Runs the test cases of a built project; returns the exit code of the program.
int RunTest(const TestOptions& options);

// Prints the operators of a project.
int RunList(const std::string& project, bool json);

}  // namespace tenon::msopgen

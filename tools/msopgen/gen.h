#pragma once

#include <string>

namespace tenon::msopgen {

struct GenOptions {
  std::string input, framework, compute_unit, language = "cpp", output = ".", op, domain = "com.example";
  int mode = 0;
};

// Each returns the exit code of the program.
int RunGen(const GenOptions& options);
int RunCheck(const std::string& input, bool json);

}  // namespace tenon::msopgen

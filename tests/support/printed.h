#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tenon::testing_support {

// What a command prints that is called as a function, and its exit code.
struct Printed {
  int exit_code = -1;
  std::string out, err;
  nlohmann::json parsed() const { return nlohmann::json::parse(out); }
};

template <class Command>
Printed Capture(Command&& command) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Printed printed;
  printed.exit_code = command();
  printed.out = testing::internal::GetCapturedStdout();
  printed.err = testing::internal::GetCapturedStderr();
  return printed;
}

}  // namespace tenon::testing_support

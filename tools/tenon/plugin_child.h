#pragma once

#include <functional>
#include <string>

#include "core/base/status.h"

namespace tenon {

// What came of code of a plugin that ran in a process of its own.
struct PluginAnswer {
  std::string text;     // what it answered, when the process ended as it should; else empty
  std::string failure;  // else: "ended the process with SIGSEGV (segmentation fault)"
};

// Runs `ask` in a child process, so that a damaged plugin ends that one. Call while the process has one thread.
Result<PluginAnswer> AskInChild(const std::function<std::string()>& ask);

}  // namespace tenon

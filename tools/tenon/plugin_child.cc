#include "tools/tenon/plugin_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/platform/process.h"

namespace tenon {
namespace {

constexpr int kTimeoutMs = 60000;

void WriteAll(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

std::string EndOf(const ChildResult& child) {
  if (child.timed_out) return fmt::format("did not return within {} seconds", kTimeoutMs / 1000);
  if (child.signal != 0) return fmt::format("ended the process with {}", SignalName(child.signal));
  return fmt::format("ended the process with exit code {}", child.exit_code);
}

}  // namespace

Result<PluginAnswer> AskInChild(const std::function<std::string()>& ask) {
  TENON_ASSIGN(ChildResult child, RunInChild(
                                      [&ask](int descriptor) {
                                        WriteAll(descriptor, ask());
                                        return 0;
                                      },
                                      kTimeoutMs));
  const bool answered = child.exited && child.exit_code == 0 && !child.timed_out;
  return PluginAnswer{answered ? std::move(child.output) : "", EndOf(child)};
}

}  // namespace tenon

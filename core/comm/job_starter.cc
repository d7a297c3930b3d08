#include "core/comm/job_starter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "configs/compat/launchers.h"

namespace tenon {
namespace {

struct Process {
  std::string name;  // as the kernel has it: its first 15 letters
  long parent = 0;
  unsigned long long started = 0;  // clock ticks since the machine's start
};

Process Read(long id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::string line;
  std::getline(file, line);
  Process process;
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return process;
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream fields(line.substr(close + 2));
  std::string field;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 4) process.parent = std::strtol(field.c_str(), nullptr, 10);
    if (number == 22) process.started = std::strtoull(field.c_str(), nullptr, 10);
  }
  return process;
}

}  // namespace

std::string JobOfStarter() {
  for (long id = getppid(); id > 1;) {
    const Process process = Read(id);
    for (const std::string_view starter : compat::kStarters) {
      if (!process.name.empty() && process.name == starter.substr(0, 15))
        return fmt::format("process {} of {}", id, process.started);
    }
    id = process.parent;
  }
  return "";
}

}  // namespace tenon

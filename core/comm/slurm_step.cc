#include "core/comm/slurm_step.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cstdio>
#include <memory>

#include "configs/compat/launchers.h"
#include "core/base/number.h"
#include "core/base/text.h"

namespace tenon {
namespace {

std::string FirstSet(const Variables& variables, std::string_view names, std::string* variable = nullptr) {
  for (const std::string& name : Split(names, ' ')) {
    const std::optional<std::string> text = variables(name.c_str());
    if (!text || text->empty()) continue;
    if (variable != nullptr) *variable = name;
    return *text;
  }
  return "";
}

// "2(x4)": two tasks on each of four nodes.
struct TaskGroup {
  std::uint32_t tasks = 0, nodes = 1;
};
std::optional<TaskGroup> ReadTasks(std::string_view item) {
  const std::size_t open = item.find("(x");
  const auto tasks = ParseNumber<std::uint32_t>(item.substr(0, open));
  if (!tasks) return std::nullopt;
  if (open == std::string_view::npos) return TaskGroup{*tasks, 1};
  if (item.back() != ')') return std::nullopt;
  const auto nodes = ParseNumber<std::uint32_t>(item.substr(open + 2, item.size() - open - 3));
  if (!nodes) return std::nullopt;
  return TaskGroup{*tasks, *nodes};
}

bool Resolves(const std::string& name) {
  addrinfo* found = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

// Node names come from the environment and go into a shell.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
             std::string::npos;
}

std::string OutputOf(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return text;
  char buffer[512];
  while (std::fgets(buffer, sizeof(buffer), pipe.get()) != nullptr) text += buffer;
  return text;
}

}  // namespace

Result<std::uint32_t> SlurmTasksOfNode(const Variables& variables, std::uint32_t fallback) {
  std::string variable;
  const std::string list = FirstSet(variables, compat::kStepTasksPerNode, &variable);
  if (list.empty()) return fallback;
  const std::string node_text = FirstSet(variables, "SLURM_NODEID");
  const auto node = ParseNumber<std::uint32_t>(node_text.empty() ? "0" : node_text);
  if (!node) return InvalidArgument("SLURM_NODEID={} is not a whole number.", node_text);
  std::uint64_t before = 0;
  for (const std::string& item : Split(list, ',')) {
    const auto group = ReadTasks(item);
    if (!group)
      return InvalidArgument("{}={} does not list tasks per node: '{}' is not like 2 or 2(x4).", variable, list, item);
    before += group->nodes;
    if (*node < before) return group->tasks;
  }
  return InvalidArgument("{}={} lists {} nodes, and SLURM_NODEID is {}.", variable, list, before, *node);
}

Result<std::string> SlurmFirstHost(const Variables& variables) {
  std::string variable;
  const std::string list = FirstSet(variables, compat::kStepNodeList, &variable);
  if (list.empty())
    return InvalidArgument("srun says that there are several nodes, and {} is not set.", compat::kStepNodeList);
  TENON_ASSIGN_WHILE(std::vector<std::string> hosts, ExpandHostList(list), "reading {}", variable);
  return hosts.front();
}

Result<std::string> SlurmAddressOf(const std::string& node) {
  if (Resolves(node)) return node;
  constexpr std::string_view kKey = "NodeAddr=";
  if (IsPlainName(node)) {
    const std::string text = OutputOf("scontrol show node " + node + " 2>/dev/null");
    const std::size_t at = text.find(kKey);
    if (at != std::string::npos) {
      const std::size_t begin = at + kKey.size();
      return text.substr(begin, text.find_first_of(" \n", begin) - begin);
    }
  }
  return Error(
      Code::kUnavailable,
      "The first node of the step, '{}', is not a name that this system resolves, and `scontrol show node {}` gives "
      "no address for it. Set MASTER_ADDR to the host of rank 0.",
      node, node);
}

}  // namespace tenon

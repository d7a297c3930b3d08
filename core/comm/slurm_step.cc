#include "core/comm/slurm_step.h"

#include <netdb.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "configs/compat/launchers.h"
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

bool ReadNumber(std::string_view digits, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size();
}

// "2(x4)": two tasks on each of four nodes.
bool ReadTasks(std::string_view item, std::uint32_t& tasks, std::uint32_t& nodes) {
  const std::size_t open = item.find("(x");
  nodes = 1;
  if (open == std::string_view::npos) return ReadNumber(item, tasks);
  return item.back() == ')' && ReadNumber(item.substr(0, open), tasks) &&
         ReadNumber(item.substr(open + 2, item.size() - open - 3), nodes);
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
  std::uint32_t node = 0;
  const std::string node_text = FirstSet(variables, "SLURM_NODEID");
  if (!node_text.empty() && !ReadNumber(node_text, node))
    return InvalidArgument("SLURM_NODEID={} is not a whole number.", node_text);
  std::uint64_t before = 0;
  for (const std::string& item : Split(list, ',')) {
    std::uint32_t tasks = 0, nodes = 0;
    if (!ReadTasks(item, tasks, nodes))
      return InvalidArgument("{}={} does not list tasks per node: '{}' is not like 2 or 2(x4).", variable, list, item);
    before += nodes;
    if (node < before) return tasks;
  }
  return InvalidArgument("{}={} lists {} nodes, and SLURM_NODEID is {}.", variable, list, before, node);
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

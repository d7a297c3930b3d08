#include "core/launch/launch_plan.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/host_name.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/platform/process.h"
#include "core/platform/spawn.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

bool IsProgram(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// A word as a shell finds it; programs beside the launcher come first, so that one installation stays together.
std::string FindProgram(const std::string& word, const std::string& search_path) {
  if (word.find('/') != std::string::npos) return IsProgram(word) ? word : "";
  std::vector<std::string> folders{ExecutableFolder()};
  for (std::string& folder : Split(search_path, ':')) folders.push_back(folder.empty() ? "." : std::move(folder));
  for (const std::string& folder : folders) {
    if (const fs::path path = fs::path(folder) / word; IsProgram(path)) return path.string();
  }
  return "";
}

Result<std::vector<std::string>> Command(const std::vector<std::string>& task, const std::string& search_path) {
  TENON_INVALID_IF(task.empty(), "The program to start is missing: msrun [FLAGS] PROGRAM [ARGUMENTS].");
  std::vector<std::string> command = task;
  if (fs::path(task[0]).extension() == ".py") {
    std::error_code error;
    if (!fs::is_regular_file(task[0], error)) return Error(Code::kNotFound, "The script '{}' is not there.", task[0]);
    command.insert(command.begin(), FindProgram("python3", search_path).empty() ? "python" : "python3");
  }
  const std::string program = FindProgram(command[0], search_path);
  if (program.empty())
    return Error(Code::kNotFound, "'{}' is not a program: no such executable file here or in PATH.", command[0]);
  command[0] = program;
  return command;
}

// The log of each worker is open while the job runs.
Status CheckOpenFiles(std::int64_t workers) {
  constexpr std::int64_t kOwn = 64;  // for everything else
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return Status();
  const auto most = static_cast<std::int64_t>(limit.rlim_cur) - kOwn;
  TENON_INVALID_IF(
      workers > most,
      "local_worker_num {} needs more open files than the limit of {} allows (ulimit -n): at most {} workers.", workers,
      limit.rlim_cur, std::max<std::int64_t>(most, 0));
  return Status();
}

Status CheckTimes(const LaunchOptions& options) {
  constexpr std::int64_t kMostSeconds = 100'000'000;
  TENON_INVALID_IF(options.cluster_time_out == 0 || options.cluster_time_out > kMostSeconds,
                   "--cluster_time_out is {}: give seconds, at most {}, or a negative number for no limit.",
                   options.cluster_time_out, kMostSeconds);
  TENON_INVALID_IF(!(options.grace_time >= 0 && options.grace_time < 1e6),
                   "--grace_time {} is not a number of seconds.", options.grace_time);
  return Status();
}

Status CheckSimulation(const LaunchOptions& options) {
  TENON_INVALID_IF(options.sim_level < -1 || options.sim_level > 3, "--sim_level {} is not from -1 to 3.",
                   options.sim_level);
  TENON_INVALID_IF(options.sim_rank_id < -1 || options.sim_rank_id >= options.worker_num,
                   "--sim_rank_id {} is not a rank of {} workers.", options.sim_rank_id, options.worker_num);
  TENON_INVALID_IF(options.sim_rank_id >= 0 && options.sim_level < 0,
                   "--sim_rank_id {} needs --sim_level: without it nothing is simulated.", options.sim_rank_id);
  return Status();
}

Status CheckFiles(const LaunchOptions& options) {
  TENON_INVALID_IF(options.worker_log_name.find('/') != std::string::npos,
                   "--worker_log_name '{}' is the name of a file and holds a '/': the folder is --log_dir.",
                   options.worker_log_name);
  const std::string& table = options.rank_table_file;
  std::error_code error;
  TENON_INVALID_IF(!table.empty() && fs::is_directory(table, error), "--rank_table_file '{}' is a folder.", table);
  if (!table.empty() && access(table.c_str(), R_OK) != 0)
    return Error(Code::kNotFound, "--rank_table_file '{}' cannot be read.", table);
  return Status();
}

Status CheckNumbers(const LaunchOptions& options) {
  TENON_INVALID_IF(options.worker_num <= 0, "worker_num must be greater than 0, but got {}.", options.worker_num);
  TENON_INVALID_IF(options.local_worker_num <= 0, "local_worker_num must be greater than 0, but got {}.",
                   options.local_worker_num);
  TENON_INVALID_IF(options.local_worker_num > options.worker_num,
                   "Total worker number is {0}, but got exceeded local worker number: {1}. Give --local_worker_num={0} "
                   "where all workers run on this node.",
                   options.worker_num, options.local_worker_num);
  TENON_INVALID_IF(options.worker_num > kMostRanks, "worker_num {} is more than {}, the most ranks of a job.",
                   options.worker_num, kMostRanks);
  TENON_TRY(CheckOpenFiles(options.local_worker_num));
  const bool several = options.local_worker_num < options.worker_num;
  TENON_INVALID_IF(options.master_port < 0 || options.master_port > 65'535,
                   "--master_port {} is not a port: 1024 to 65535, or 0.", options.master_port);
  TENON_INVALID_IF(options.master_port > 0 && options.master_port < 1024 && !IsRoot(),
                   "--master_port {} is below 1024, which only root may use.", options.master_port);
  TENON_INVALID_IF(
      options.master_port == 0 && several,
      "--master_port 0 picks a free port on one node; with {} of {} workers here the other nodes must know it.",
      options.local_worker_num, options.worker_num);
  TENON_INVALID_IF(options.node_rank < -1, "--node_rank {} is neither a node's number nor -1.", options.node_rank);
  TENON_INVALID_IF(options.node_rank >= options.worker_num, "--node_rank {} is not below the number of workers, {}.",
                   options.node_rank, options.worker_num);
  TENON_INVALID_IF(options.max_restarts < 0, "--max_restarts {} is negative.", options.max_restarts);
  TENON_INVALID_IF(options.max_restarts > 0 && !options.join,
                   "--max_restarts {} needs --join=True: nobody watches the workers.", options.max_restarts);
  return Status();
}

Status ChooseNode(LaunchPlan& plan, const Variables& variables) {
  const LaunchOptions& options = plan.options;
  if (options.node_rank >= 0) {
    plan.node = static_cast<std::uint32_t>(options.node_rank);
    plan.node_from = "--node_rank";
  } else if (!plan.one_node()) {
    TENON_ASSIGN(const std::optional<NodeIndex> index, NodeIndexFromVariables(variables));
    plan.asks_for_ranks = !index;
    if (index) plan.node = index->index;
    if (index) plan.node_from = index->variable;
  }
  const std::int64_t last = (plan.node + 1) * options.local_worker_num;
  TENON_INVALID_IF(last > options.worker_num,
                   "{} {} with {} local workers leads to rank {}, and the job has {} workers.", plan.node_from,
                   plan.node, options.local_worker_num, last - 1, options.worker_num);
  return Status();
}

// True when the name or address leads to an interface of this machine.
bool IsLocal(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* interfaces = nullptr;
  bool local = false;
  if (getifaddrs(&interfaces) == 0) {
    const auto text = [](const sockaddr* address) {
      char name[NI_MAXHOST] = {};
      if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return std::string();
      const socklen_t bytes = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      return getnameinfo(address, bytes, name, sizeof(name), nullptr, 0, NI_NUMERICHOST) == 0 ? name : std::string();
    };
    for (const ifaddrs* own = interfaces; own != nullptr; own = own->ifa_next) {
      const std::string own_text = text(own->ifa_addr);
      for (const addrinfo* entry = found; entry != nullptr && !own_text.empty(); entry = entry->ai_next)
        local = local || text(entry->ai_addr) == own_text;
    }
    freeifaddrs(interfaces);
  }
  const auto loopback = [](const addrinfo* entry) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ai_addr);
    return entry->ai_family == AF_INET && (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  };
  local = local || loopback(found);
  freeaddrinfo(found);
  return local;
}

Result<std::set<std::size_t>> TailedWorkers(const LaunchOptions& options) {
  std::set<std::size_t> tailed;
  const auto count = static_cast<std::size_t>(options.local_worker_num);
  for (const std::string& word : Split(options.tail_worker_log, ',')) {
    const auto index = ParseNumber<std::int64_t>(Trim(word));
    if (!index || *index < -1 || *index >= options.local_worker_num)
      return InvalidArgument("--tail_worker_log '{}': '{}' is not the local index of one of {} workers.",
                             options.tail_worker_log, word, options.local_worker_num);
    if (*index >= 0) tailed.insert(static_cast<std::size_t>(*index));
    if (*index >= 0) continue;
    for (std::size_t all = 0; all < count; ++all) tailed.insert(all);
  }
  return tailed;
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string LogName(const LaunchPlan& plan, std::uint32_t number) {
  std::string name = plan.options.worker_log_name;
  if (name.empty()) return fmt::format("worker_{}.log", number);
  ReplaceAll(name, "{ip}", plan.one_node() || plan.serves ? plan.options.master_addr : HostName());
  ReplaceAll(name, "{hostname}", HostName());
  return fmt::format("{}_{}.log", name, number);
}

}  // namespace

Result<LaunchPlan> MakeLaunchPlan(const LaunchOptions& options, const Variables& variables) {
  TENON_TRY(CheckNumbers(options));
  TENON_TRY(CheckTimes(options));
  TENON_TRY(CheckSimulation(options));
  TENON_TRY(CheckFiles(options));
  LaunchPlan plan;
  plan.options = options;
  TENON_TRY(ChooseNode(plan, variables));
  TENON_ASSIGN(plan.command, Command(options.task, variables("PATH").value_or("/usr/local/bin:/usr/bin:/bin")));
  TENON_ASSIGN(const std::set<std::size_t> tailed, TailedWorkers(options));
  std::error_code error;
  plan.log_folder = fs::absolute(options.log_dir.empty() ? "." : options.log_dir, error).lexically_normal().string();
  if (plan.log_folder.size() > 1 && plan.log_folder.back() == '/') plan.log_folder.pop_back();
  const bool simulates = options.sim_level >= 0;
  plan.serves = !simulates && (plan.node_from.empty() ? IsLocal(options.master_addr) : plan.node == 0);
  TENON_INVALID_IF(
      !simulates && plan.one_node() && !plan.serves,
      "--master_addr '{}' is not this machine, where all {} workers of the job are: nobody would be there.",
      options.master_addr, options.worker_num);
  const std::vector<int> usable = UsableCoreNumbers();
  const auto count = static_cast<std::size_t>(options.local_worker_num);
  TENON_INVALID_IF(options.bind_core != "False" && options.bind_numa != "False",
                   "--bind_core and --bind_numa both say where workers run; give one.");
  TENON_ASSIGN(std::vector<std::vector<int>> cores, options.bind_numa != "False"
                                                        ? BindNuma(options.bind_numa, count, usable)
                                                        : BindCores(options.bind_core, count, usable));
  for (std::size_t local = 0; local < count; ++local) {
    WorkerPlan worker;
    worker.local_rank = static_cast<std::uint32_t>(local);
    worker.cores = std::move(cores[local]);
    worker.tailed = options.join && tailed.count(local) != 0;
    plan.workers.push_back(std::move(worker));
  }
  NumberWorkers(plan, plan.node * static_cast<std::uint32_t>(options.local_worker_num));
  if (simulates && options.sim_rank_id >= 0) {
    plan.workers.resize(1);
    NumberWorkers(plan, static_cast<std::uint32_t>(options.sim_rank_id));
  }
  return plan;
}

void NumberWorkers(LaunchPlan& plan, std::uint32_t first_rank) {
  for (WorkerPlan& worker : plan.workers) {
    worker.rank = first_rank + worker.local_rank;
    worker.log = plan.log_folder + "/" + LogName(plan, worker.rank);
  }
}

}  // namespace tenon

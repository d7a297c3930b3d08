#include "core/comm/rank.h"

#include <algorithm>
#include <set>

#include "configs/compat/launchers.h"
#include "core/base/env.h"
#include "core/base/host_name.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/comm/job_starter.h"
#include "core/comm/slurm_step.h"

namespace tenon {
namespace {

using compat::Launcher;

constexpr char kChoice[] = "TENON_LAUNCHER", kOwnPort[] = "TENON_MASTER_PORT";
// Where no launcher gives a port, it comes out of the job's identity, so that two jobs on one machine differ.
constexpr std::uint32_t kFirstPort = 20'000, kPorts = 10'000;

// A variable that is set, and its text.
struct Setting {
  std::string variable;
  std::string text;
};

std::optional<Setting> Find(const Variables& variables, std::string_view names) {
  if (names.empty()) return std::nullopt;
  for (const std::string& name : Split(names, ' ')) {
    if (std::optional<std::string> text = variables(name.c_str()); text && !text->empty()) return Setting{name, *text};
  }
  return std::nullopt;
}

Result<std::uint32_t> Number(const Setting& setting, std::uint32_t least, std::uint32_t most) {
  const auto number = ParseNumber<std::uint32_t>(setting.text);
  if (!number || *number < least || *number > most)
    return InvalidArgument("{}={} is not a whole number from {} to {}.", setting.variable, setting.text, least, most);
  return *number;
}

// `fallback` when no variable of `names` is set.
Result<std::uint32_t> NumberOr(const Variables& variables, std::string_view names, std::uint32_t fallback,
                               std::uint32_t least, std::uint32_t most) {
  const std::optional<Setting> setting = Find(variables, names);
  if (!setting) return fallback;
  return Number(*setting, least, most);
}

std::string TextOr(const Variables& variables, std::string_view names, std::string fallback) {
  std::optional<Setting> setting = Find(variables, names);
  return setting ? std::move(setting->text) : std::move(fallback);
}

// The first variable of a list, or all with "or" between.
std::string OrList(std::string_view names) {
  std::string text(names);
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 4))
    text.replace(at, 1, " or ");
  return text;
}

bool Present(const Launcher& launcher, const Variables& variables) {
  if (!Find(variables, launcher.sign)) return false;
  const std::string_view id = launcher.id;
  // RANK is everybody's word: with LOCAL_RANK beside it, it is torchrun's.
  if (id == "pod") return !Find(variables, "LOCAL_RANK");
  // Every indexed job has this variable, also one of independent pods.
  if (id == "pod_index") return Find(variables, launcher.size).has_value();
  if (id == "slurm") return Find(variables, launcher.rank).has_value();
  return true;
}

Status CheckRole(const Variables& variables) {
  if (const std::optional<Setting> simulation = Find(variables, compat::kSimulation))
    return InvalidArgument(
        "{}={} asks for a rank that is simulated, which this program does not do; `tenon train "
        "--dry-run` plans a run of one process without training.",
        simulation->variable, simulation->text);
  const std::optional<Setting> role = Find(variables, compat::kRole);
  if (!role || role->text == compat::kRoleWorker) return Status();
  if (role->text == compat::kRoleScheduler)
    return InvalidArgument("{}={} asks for the scheduler, which msrun runs itself; start workers only.", role->variable,
                           role->text);
  return InvalidArgument("Role name '{}' is invalid: {} is {} or {}.", role->text, role->variable, compat::kRoleWorker,
                         compat::kRoleScheduler);
}

Status CheckPod(const Launcher& launcher, const Variables& variables) {
  const std::optional<Setting> size = Find(variables, launcher.size);
  if (size && size->text.find(':') != std::string::npos)
    return InvalidArgument("{}={} is a range, and the number of processes of a run is fixed: give one number.",
                           size->variable, size->text);
  const std::optional<Setting> processes = Find(variables, compat::kPodProcesses);
  if (!processes || processes->text == "1") return Status();
  return InvalidArgument("{}={} asks for several processes in this pod: start them with msrun.", processes->variable,
                         processes->text);
}

Result<std::uint32_t> Needed(const Launcher& launcher, const Variables& variables, const char* names,
                             std::uint32_t least) {
  const std::optional<Setting> setting = Find(variables, names);
  if (!setting)
    return InvalidArgument("The variables of {} are incomplete: {} is set, {} is not.", launcher.title,
                           Find(variables, launcher.sign)->variable, OrList(names));
  return Number(*setting, least, kMostRanks);
}

Status CheckBelow(const Launcher& launcher, const char* what, std::uint32_t value, const char* limit_name,
                  std::uint32_t limit) {
  if (value < limit) return Status();
  return InvalidArgument("{} says {} {} of {} {}; it must be below {}.", launcher.title, what, value, limit, limit_name,
                         limit);
}

Status FillPlace(const Launcher& launcher, const Variables& variables, Rank& rank) {
  TENON_ASSIGN(rank.rank, Needed(launcher, variables, launcher.rank, 0));
  TENON_ASSIGN(rank.size, Needed(launcher, variables, launcher.size, 1));
  TENON_TRY(CheckBelow(launcher, "rank", rank.rank, "ranks", rank.size));
  TENON_ASSIGN(rank.local_rank, NumberOr(variables, launcher.local_rank, 0, 0, kMostRanks));
  std::uint32_t local_size = std::max(rank.local_rank + 1, launcher.per_pod ? 1U : 0U);
  if (launcher.id == std::string_view("slurm")) {
    TENON_ASSIGN(local_size, SlurmTasksOfNode(variables, rank.local_rank + 1));
  } else if (std::string_view(launcher.local_size).empty() == false && !Find(variables, launcher.local_size)) {
    local_size = rank.size;  // started by hand on one node
  }
  TENON_ASSIGN(rank.local_size, NumberOr(variables, launcher.local_size, local_size, 1, kMostRanks));
  TENON_TRY(CheckBelow(launcher, "local rank", rank.local_rank, "local ranks", rank.local_size));
  const std::uint32_t block = rank.rank >= rank.local_rank ? (rank.rank - rank.local_rank) / rank.local_size : 0;
  TENON_ASSIGN(rank.node, NumberOr(variables, launcher.node, block, 0, kMostRanks));
  return Status();
}

std::uint16_t PortOfJob(const std::string& job) {
  std::uint32_t hash = 2'166'136'261;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
  return static_cast<std::uint16_t>(kFirstPort + hash % kPorts);
}

Status FillAddress(const Launcher& launcher, const Variables& variables, Rank& rank) {
  if (rank.size == 1) return Status();
  const bool one_node = rank.local_size == rank.size;
  std::optional<Setting> address = Find(variables, launcher.address);
  if (address) rank.address = address->text;
  if (!address && one_node) rank.address = "127.0.0.1";
  if (!address && !one_node && launcher.id == std::string_view("slurm")) {
    TENON_ASSIGN(rank.address, SlurmFirstHost(variables));
  }
  if (rank.address.empty())
    return InvalidArgument(
        "{} says rank {} of {} on several nodes, and no address where they meet: set {} to the host of rank 0.",
        launcher.title, rank.rank, rank.size, OrList(launcher.address));
  TENON_ASSIGN(const std::uint32_t port, NumberOr(variables, launcher.port, PortOfJob(rank.job), 1, 65'535));
  const bool taken = Find(variables, compat::kAgentStore).value_or(Setting{}).text == "True";
  const bool next = taken && launcher.id == std::string_view("torchrun");
  TENON_ASSIGN(const std::uint32_t own, NumberOr(variables, kOwnPort, next ? port + 1 : port, 1, 65'535));
  rank.port = static_cast<std::uint16_t>(own);
  return Status();
}

Result<Rank> RankOf(const Launcher& launcher, const Variables& variables) {
  Rank rank;
  const bool ours = launcher.id == std::string_view("msrun");
  if (ours) TENON_TRY(CheckRole(variables));
  if (launcher.per_pod) TENON_TRY(CheckPod(launcher, variables));
  rank.source = launcher.title;
  rank.has_scheduler = ours && Find(variables, compat::kRole).has_value();
  rank.job = TextOr(variables, launcher.job, "");
  if (launcher.id == std::string_view("slurm")) rank.job += "." + TextOr(variables, compat::kStepId, "0");
  TENON_ASSIGN(rank.generation, NumberOr(variables, launcher.generation, 0, 0, kMostRanks));
  rank.node_name = TextOr(variables, launcher.node_name, HostName());
  TENON_TRY(FillPlace(launcher, variables, rank));
  TENON_TRY(FillAddress(launcher, variables, rank));
  return rank;
}

// A launcher that was found, and what it says.
struct Source {
  const Launcher* launcher;
  std::uint32_t rank, size;
};

// True when `inner` was started by processes of `outer`, one per node or one alone: then they do not contradict.
bool StartedInside(const Source& outer, const Source& inner, const Variables& variables) {
  if (outer.size == 1) return true;
  if (outer.launcher->id != std::string_view("slurm") || inner.launcher->id == std::string_view("slurm")) return false;
  const Result<std::uint32_t> nodes = NumberOr(variables, compat::kStepNodes, 0, 0, kMostRanks);
  return nodes.ok() && *nodes == outer.size && inner.size > outer.size;
}

Status CheckAgreement(const std::vector<Source>& sources, const Variables& variables) {
  const Source& first = sources.front();
  for (const Source& other : sources) {
    if (other.launcher->per_pod != first.launcher->per_pod || (other.rank == first.rank && other.size == first.size))
      continue;
    if (StartedInside(other, first, variables)) continue;
    return InvalidArgument(
        "Two launchers disagree: {} says rank {} of {} ({}), {} says rank {} of {} ({}). Unset the variables of one, "
        "or "
        "name the right one, such as {}={}.",
        first.launcher->title, first.rank, first.size, OrList(first.launcher->rank), other.launcher->title, other.rank,
        other.size, OrList(other.launcher->rank), kChoice, first.launcher->id);
  }
  return Status();
}

Result<Rank> ChosenRank(const Setting& choice, const Variables& variables) {
  std::vector<std::string> known;
  for (const Launcher& launcher : compat::kLaunchers) {
    known.emplace_back(launcher.id);
    if (choice.text != launcher.id) continue;
    if (!Find(variables, launcher.sign))
      return InvalidArgument("{}={} is set, and no variable of it is: {}.", kChoice, choice.text,
                             OrList(launcher.rank));
    return RankOf(launcher, variables);
  }
  return InvalidArgument("{}={} is not a launcher that is known here: {}.", kChoice, choice.text, JoinAnd(known));
}

}  // namespace

Result<Rank> RankFromVariables(const Variables& variables) {
  if (const std::optional<Setting> choice = Find(variables, kChoice)) return ChosenRank(*choice, variables);
  std::vector<Source> sources;
  for (const Launcher& launcher : compat::kLaunchers) {
    if (!Present(launcher, variables)) continue;
    if (launcher.id == std::string_view("msrun")) TENON_TRY(CheckRole(variables));
    if (launcher.per_pod) TENON_TRY(CheckPod(launcher, variables));
    Source source{&launcher, 0, 1};
    TENON_ASSIGN(source.rank, Needed(launcher, variables, launcher.rank, 0));
    TENON_ASSIGN(source.size, Needed(launcher, variables, launcher.size, 1));
    sources.push_back(source);
  }
  if (sources.empty()) {
    Rank alone;
    alone.node_name = TextOr(variables, "TENON_NODE_NAME", HostName());
    return alone;
  }
  // One process alone says nothing against several that were started in it.
  const auto many = std::find_if(sources.begin(), sources.end(), [](const Source& s) { return s.size > 1; });
  if (many != sources.end()) std::rotate(sources.begin(), many, many + 1);
  TENON_TRY(CheckAgreement(sources, variables));
  return RankOf(*sources.front().launcher, variables);
}

Result<Rank> RankFromEnvironment() {
  TENON_ASSIGN(Rank rank, RankFromVariables(GetEnv));
  if (!rank.many()) return rank;
  if (rank.source == std::string_view("srun")) {
    TENON_ASSIGN(rank.address, SlurmAddressOf(rank.address));
    // The cluster's own record of its nodes: several on one machine.
    rank.one_machine = rank.address.rfind("127.", 0) == 0 && !GetEnv("MASTER_ADDR");
  }
  if (rank.job.empty() && rank.local_size == rank.size && !GetEnv("MASTER_PORT")) {
    rank.job = JobOfStarter();
    rank.port = rank.job.empty() ? rank.port : PortOfJob(rank.job);
  }
  return rank;
}

std::string Describe(const Rank& rank) {
  if (rank.source.empty()) return "one process, no launcher";
  std::string text = fmt::format("rank {} of {} (local {} of {}, node {} '{}'), said by {}", rank.rank, rank.size,
                                 rank.local_rank, rank.local_size, rank.node, rank.node_name, rank.source);
  if (rank.many()) text += fmt::format(", meeting at {}:{}", rank.address, rank.port);
  return text;
}

Result<std::optional<NodeIndex>> NodeIndexFromVariables(const Variables& variables) {
  for (const char* name : compat::kNodeIndex) {
    const std::optional<Setting> setting = Find(variables, name);
    if (!setting) continue;
    // RANK with LOCAL_RANK beside it is the rank of a process, not of a pod.
    if (setting->variable == "RANK" && Find(variables, "LOCAL_RANK")) continue;
    TENON_ASSIGN(const std::uint32_t index, Number(*setting, 0, kMostRanks));
    return std::optional<NodeIndex>(NodeIndex{index, setting->variable});
  }
  return std::optional<NodeIndex>();
}

std::vector<std::string> RankVariableNames() {
  std::set<std::string> names{kChoice, kOwnPort, compat::kStepId, compat::kRole, compat::kAgentStore};
  for (const Launcher& launcher : compat::kLaunchers) {
    for (const char* column : {launcher.sign, launcher.rank, launcher.size, launcher.local_rank, launcher.local_size,
                               launcher.node, launcher.generation}) {
      if (*column == '\0') continue;
      for (std::string& name : Split(column, ' ')) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tenon

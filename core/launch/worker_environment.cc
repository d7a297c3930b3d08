#include <algorithm>
#include <map>

#include "configs/compat/launchers.h"
#include "core/base/text.h"
#include "core/launch/launch_plan.h"

namespace tenon {
namespace {

std::string NameOf(const std::string& variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::vector<std::string> WorkerEnvironment(const LaunchPlan& plan, const WorkerPlan& worker, const JobFacts& facts,
                                           const std::vector<std::string>& inherited) {
  const LaunchOptions& options = plan.options;
  const std::map<std::string, std::string> values = {
      {"rank", std::to_string(worker.rank)},
      {"size", std::to_string(options.worker_num)},
      {"local_rank", std::to_string(worker.local_rank)},
      {"local_size", std::to_string(options.local_worker_num)},
      {"node", std::to_string(plan.asks_for_ranks ? worker.rank / plan.workers.size() : plan.node)},
      {"address", options.master_addr},
      {"port", std::to_string(facts.port)},
      {"next_port", std::to_string(facts.port == 65'535 ? 1024 : facts.port + 1)},
      {"topology_timeout", std::to_string(options.cluster_time_out)},
      {"job", facts.job},
      {"generation", std::to_string(facts.generation)},
      {"started", std::to_string(facts.started)},
      {"max_restarts", std::to_string(options.max_restarts)},
  };
  std::map<std::string, std::string> own;
  for (const compat::Exported& exported : compat::kExported) {
    for (std::string& name : Split(exported.variables, ' ')) own[std::move(name)] = values.at(exported.meaning);
  }
  own[compat::kRole] = compat::kRoleWorker;
  if (!options.rank_table_file.empty()) own[compat::kRankTable] = options.rank_table_file;
  if (options.sim_level >= 0) own[compat::kSimulation] = std::to_string(options.sim_level);

  const std::vector<std::string> foreign = RankVariableNames();
  std::vector<std::string> environment;
  for (const std::string& variable : inherited) {
    const std::string name = NameOf(variable);
    if (own.count(name) == 0 && std::find(foreign.begin(), foreign.end(), name) == foreign.end())
      environment.push_back(variable);
  }
  for (const auto& [name, value] : own) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace tenon

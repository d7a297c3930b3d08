#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/launch/launch_plan.h"

namespace tenon {
namespace {

using Json = nlohmann::json;
using CoreLists = std::vector<std::vector<int>>;

// "0-3" or "5".
Status AddCores(const std::string& flag, const std::string& range, const std::vector<int>& usable,
                std::vector<int>& cores) {
  const std::vector<std::string> ends = Split(range, '-');
  const auto first = ParseNumber<int>(ends.front()), last = ParseNumber<int>(ends.back());
  if (ends.size() > 2 || !first || !last || *first > *last || *last > 100'000)
    return InvalidArgument("{}: '{}' is not a core or a range of cores such as 0-3.", flag, range);
  for (int core = *first; core <= *last; ++core) {
    if (std::find(usable.begin(), usable.end(), core) == usable.end())
      return InvalidArgument("{}: core {} of '{}' is not one that this process may use ({} are).", flag, core, range,
                             usable.size());
    cores.push_back(core);
  }
  return Status();
}

Result<CoreLists> ReadLists(const std::string& flag, const std::string& text, std::size_t workers,
                            const std::vector<int>& usable) {
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object())
    return InvalidArgument("{} '{}' is not True, False or JSON such as {{\"device0\": [\"0-3\"]}}.", flag, text);
  CoreLists lists(workers);
  for (const auto& [name, ranges] : document.items()) {
    const auto index = ParseNumber<std::size_t>(std::string_view(name).substr(std::min<std::size_t>(6, name.size())));
    if (name.rfind("device", 0) != 0 || !index || *index >= workers)
      return InvalidArgument("{}: '{}' is not one of device0 to device{}.", flag, name, workers - 1);
    if (!ranges.is_array()) return InvalidArgument("{}: '{}' is not a list of ranges.", flag, name);
    for (const Json& range : ranges) {
      if (!range.is_string()) return InvalidArgument("{}: '{}' holds {}, which is not text.", flag, name, range.dump());
      TENON_TRY(AddCores(flag, range.get<std::string>(), usable, lists[*index]));
    }
  }
  return lists;
}

// Neighbouring shares of equal size; where workers outnumber the cores, several share one.
CoreLists DealOut(std::size_t workers, const std::vector<int>& cores) {
  CoreLists lists(workers);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const std::size_t first = worker * cores.size() / workers;
    const std::size_t last = std::max(first + 1, (worker + 1) * cores.size() / workers);
    for (std::size_t i = first; i < last && i < cores.size(); ++i) lists[worker].push_back(cores[i]);
  }
  return lists;
}

// Usable cores by NUMA node; one list when the system does not tell.
CoreLists NumaNodes(const std::vector<int>& usable) {
  CoreLists nodes;
  for (int node = 0;; ++node) {
    std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
    std::string line;
    if (!std::getline(file, line)) break;
    std::vector<int> all, here;
    for (int core = 0; core <= 100'000 && core <= usable.back(); ++core) all.push_back(core);
    for (const std::string& range : Split(line, ',')) {
      std::vector<int> cores;
      if (!AddCores("cpulist", range, all, cores).ok()) continue;
      for (const int core : cores) {
        if (std::find(usable.begin(), usable.end(), core) != usable.end()) here.push_back(core);
      }
    }
    if (!here.empty()) nodes.push_back(std::move(here));
  }
  if (nodes.empty()) nodes.push_back(usable);
  return nodes;
}

}  // namespace

Result<CoreLists> BindCores(const std::string& flag, std::size_t workers, const std::vector<int>& usable) {
  if (flag == "False") return CoreLists(workers);
  if (flag == "True") return DealOut(workers, usable);
  return ReadLists("--bind_core", flag, workers, usable);
}

Result<CoreLists> BindNuma(const std::string& flag, std::size_t workers, const std::vector<int>& usable) {
  if (flag == "False") return CoreLists(workers);
  if (flag != "True") return ReadLists("--bind_numa", flag, workers, usable);
  const CoreLists nodes = NumaNodes(usable);
  CoreLists lists(workers);
  for (std::size_t worker = 0; worker < workers; ++worker) lists[worker] = nodes[worker * nodes.size() / workers];
  return lists;
}

}  // namespace tenon

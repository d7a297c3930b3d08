#include "hccl/rank_table.h"

#include <time.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "hccl/fault.h"
#include "node/clock.h"

namespace tenon::hccl {
namespace {

using Json = nlohmann::json;

// The table and its file, for texts.
struct Source {
  const std::string& path;
  const std::string& text;

  Fault Bad(const std::string& reason) const {
    constexpr size_t kShown = 600;
    const std::string shown = text.size() > kShown ? text.substr(0, kShown) + " ..." : text;
    return MakeFault(TENON_INVALID_ARGUMENT, Ei::kRankTable,
                     "Rank table '" + path + "' is wrong: " + reason + " The table: " + shown);
  }
};

// A member that must be text, as all values of a table are.
std::string TextOf(const Source& source, const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) throw source.Bad("'" + std::string(key) + "' is missing in " + where + ".");
  if (!found->is_string())
    throw source.Bad("'" + std::string(key) + "' in " + where + " is " + found->dump() +
                     "; it must be a text in quotes.");
  return found->get<std::string>();
}

std::string OptionalTextOf(const Source& source, const Json& object, const char* key, const std::string& where) {
  return object.contains(key) ? TextOf(source, object, key, where) : std::string();
}

uint64_t NumberOf(const Source& source, const Json& object, const char* key, const std::string& where) {
  const std::string text = TextOf(source, object, key, where);
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw source.Bad("'" + std::string(key) + "' in " + where + " is '" + text + "'; it must be a number.");
  return number;
}

const Json& ListOf(const Source& source, const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->empty())
    throw source.Bad("'" + std::string(key) + "' in " + where + " must be a list that is not empty.");
  return *found;
}

struct Entry {
  uint64_t rank;
  TableRank device;
};

void ReadServer(const Source& source, const Json& server, bool super, std::vector<Entry>* out) {
  if (!server.is_object()) throw source.Bad("an entry of 'server_list' is no object.");
  const std::string id = TextOf(source, server, "server_id", "a server");
  const std::string where = "server '" + id + "'";
  std::set<std::string> devices;
  for (const Json& device : ListOf(source, server, "device", where)) {
    if (!device.is_object()) throw source.Bad("a device of " + where + " is no object.");
    Entry entry;
    entry.rank = NumberOf(source, device, "rank_id", "a device of " + where);
    entry.device.server = id;
    entry.device.host_ip = OptionalTextOf(source, server, "host_ip", where);
    entry.device.device_id = TextOf(source, device, "device_id", "a device of " + where);
    NumberOf(source, device, "device_id", "a device of " + where);
    entry.device.device_ip = OptionalTextOf(source, device, "device_ip", "a device of " + where);
    if (super) entry.device.super_device = TextOf(source, device, "super_device_id", "a device of " + where);
    if (!devices.insert(entry.device.device_id).second)
      throw source.Bad("device_id '" + entry.device.device_id + "' stands twice in " + where + ".");
    out->push_back(std::move(entry));
  }
}

// Version 1.2: which pod a server belongs to.
void ReadPods(const Source& source, const Json& table, std::vector<Entry>* entries) {
  if (!table.contains("super_pod_list")) return;
  for (const Json& pod : ListOf(source, table, "super_pod_list", "the table")) {
    const std::string id = TextOf(source, pod, "super_pod_id", "'super_pod_list'");
    for (const Json& server : ListOf(source, pod, "server_list", "super pod '" + id + "'")) {
      const std::string name = TextOf(source, server, "server_id", "super pod '" + id + "'");
      bool known = false;
      for (Entry& entry : *entries) {
        if (entry.device.server != name) continue;
        known = true;
        entry.device.super_pod = id;
      }
      if (!known)
        throw source.Bad("super pod '" + id + "' names server '" + name + "', which is not in 'server_list'.");
    }
  }
}

// Rank ids are 0 .. N-1, each once, and ascend with the order of servers.
void Place(const Source& source, std::vector<Entry> entries, RankTable* out) {
  const size_t count = entries.size();
  std::vector<bool> seen(count, false);
  out->ranks.assign(count, {});
  for (Entry& entry : entries) {
    if (entry.rank >= count)
      throw source.Bad("rank_id '" + std::to_string(entry.rank) + "' is not below the number of devices, " +
                       std::to_string(count) + ": a rank is missing.");
    if (seen[entry.rank]) throw source.Bad("rank_id '" + std::to_string(entry.rank) + "' stands twice.");
    seen[entry.rank] = true;
    out->ranks[entry.rank] = std::move(entry.device);
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw MakeFault(TENON_NOT_FOUND, Ei::kRankTable,
                    "Rank table '" + path + "' of RANK_TABLE_FILE cannot be read: " + std::strerror(errno) + ".");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TableState ParseRankTable(const std::string& text, const std::string& path, RankTable* out, std::string* status) {
  const Source source{path, text};
  const Json table = Json::parse(text, nullptr, false);
  if (table.is_discarded()) throw source.Bad("it is not JSON.");
  if (!table.is_object()) throw source.Bad("it is no object.");
  *status = TextOf(source, table, "status", "the table");
  if (*status != "completed") return TableState::kInitializing;
  RankTable read;
  read.version = TextOf(source, table, "version", "the table");
  if (read.version != "1.0" && read.version != "1.2")
    throw source.Bad("version '" + read.version + "' is not known; '1.0' and '1.2' are.");
  const uint64_t count = NumberOf(source, table, "server_count", "the table");
  const Json& servers = ListOf(source, table, "server_list", "the table");
  if (servers.size() != count)
    throw source.Bad("'server_count' is '" + std::to_string(count) + "', but 'server_list' has " +
                     std::to_string(servers.size()) + " entries.");
  std::vector<Entry> entries;
  std::set<std::string> ids;
  for (const Json& server : servers) {
    ReadServer(source, server, read.version == "1.2", &entries);
    if (!ids.insert(entries.back().device.server).second)
      throw source.Bad("server_id '" + entries.back().device.server + "' stands twice.");
  }
  if (read.version == "1.2") ReadPods(source, table, &entries);
  Place(source, std::move(entries), &read);
  *out = std::move(read);
  return TableState::kComplete;
}

RankTable ReadRankTable(const std::string& path, uint64_t timeout_ns, const std::function<void()>& stop) {
  const uint64_t until = NowNs() + timeout_ns;
  for (;;) {
    RankTable table;
    std::string status;
    if (ParseRankTable(ReadFile(path), path, &table, &status) == TableState::kComplete) return table;
    stop();
    if (NowNs() > until)
      throw MakeFault(TENON_DEADLINE_EXCEEDED, Ei::kRankTable,
                      "Rank table '" + path + "' still has status '" + status + "' after " + Seconds(timeout_ns) +
                          " (HCCL_CONNECT_TIMEOUT); it must be 'completed'.");
    SleepNs(20'000'000);
  }
}

}  // namespace tenon::hccl

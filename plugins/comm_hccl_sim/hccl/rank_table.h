// Rank tables of HCCL, versions 1.0 and 1.2: which rank runs on which device of which server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::hccl {

struct TableRank {
  std::string server;   // server_id
  std::string host_ip;  // of the server; may be empty
  std::string device_id;
  std::string device_ip;
  std::string super_device;  // super_device_id of version 1.2; may be empty
  std::string super_pod;     // super_pod_id, likewise
};

struct RankTable {
  std::string version;
  std::vector<TableRank> ranks;  // by rank_id
};

enum class TableState { kComplete, kInitializing };

// Parses and checks a table. kInitializing: its status is not "completed" yet, *out is untouched and *status says what it is.
// Throws Fault EI0004 with the reason and the table's text.
TableState ParseRankTable(const std::string& text, const std::string& path, RankTable* out, std::string* status);

// Reads the file until it is complete, at most timeout_ns; `stop` ends the wait early with a Fault of its own.
RankTable ReadRankTable(const std::string& path, uint64_t timeout_ns, const std::function<void()>& stop);

}  // namespace tenon::hccl

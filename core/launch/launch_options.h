#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

// The flags of `msrun`, with its names and defaults.
struct LaunchOptions {
  std::int64_t worker_num = 8;
  std::int64_t local_worker_num = 8;
  std::string master_addr = "127.0.0.1";
  std::int64_t master_port = 8118;  // 0: a free one, on one node
  std::int64_t node_rank = -1;
  std::string log_dir;          // empty: the current folder
  std::string worker_log_name;  // empty: worker_<rank>.log
  bool join = true;
  std::int64_t cluster_time_out = 600;  // seconds; negative: for ever
  std::string bind_core = "False";
  std::string bind_numa = "False";
  std::int64_t sim_level = -1;
  std::int64_t sim_rank_id = -1;
  std::string rank_table_file;
  std::string tail_worker_log = "-1";
  std::int64_t max_restarts = 0;
  double grace_time = 5;          // seconds from SIGTERM to SIGKILL
  std::vector<std::string> task;  // program and arguments
};

}  // namespace tenon

// The variables of HCCL that this simulator obeys, and its own.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::hccl {

struct Environment {
  uint64_t connect_ns = 0;     // HCCL_CONNECT_TIMEOUT: 120 s, [120, 7200]
  uint64_t exec_ns = 0;        // HCCL_EXEC_TIMEOUT: 1836 s, [0, 17340], whole multiples of 68; 0: for ever
  bool connect_given = false;  // the variable was set
  bool exec_given = false;
  std::string rank_table;  // RANK_TABLE_FILE, else MINDSPORE_HCCL_CONFIG_PATH
  std::string interface;   // HCCL_SOCKET_IFNAME: network interface between nodes
  std::string address;     // HCCL_IF_IP: address between nodes
  bool realtime = false;   // TENON_HCCL_PRIORITY: threads that move messages between nodes run before others
};

// HCCL_SIM_TIMEOUT_SCALE multiplies both times, so that tests use fractions of seconds inside the real ranges. Throws
// Fault EI0001 that names variable, value and range.
Environment ReadEnvironment();

}  // namespace tenon::hccl

// Which address of this machine other nodes reach it by.
#pragma once

#include <string>

#include "hccl/environment.h"

namespace tenon::hccl {

struct Choice {
  std::string address;
  std::string why;  // who said so
};

// HCCL_IF_IP, then HCCL_SOCKET_IFNAME, then the rank table's host_ip (may be empty), then the first interface that is up and no
// loopback; loopback when all nodes are on this machine (`one_machine`). Throws Fault EI0006 that lists the interfaces that are
// there when one asked for is not, and when loopback is all there is.
Choice ChooseAddress(const Environment& environment, const std::string& table_ip, bool one_machine);

// Names the machine and its network: equal for processes that reach each other by loopback.
std::string MachineName();

}  // namespace tenon::hccl

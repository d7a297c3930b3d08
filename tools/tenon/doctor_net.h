#pragma once

#include <string>
#include <vector>

namespace tenon {

// `tenon doctor net [--address HOST] [--port PORT] [--comm ID] [--plugin-dir DIR]... [--timeout SECONDS]`
struct DoctorNetOptions {
  std::string address;  // empty: ranks of a launcher
  int port = 8118;
  std::string comm = "auto";  // as in `parallel.comm`
  std::vector<std::string> plugin_dirs;
  double timeout = 10;
};
// Under a launcher: meets the other ranks, compares versions and clocks, and sums one number per rank with the collective
// plugin. Without one, or with an address: looks at one rendezvous from outside. Says of each step whether it works, and
// of the first that does not, why. 0 when all work.
int RunDoctorNet(const DoctorNetOptions& options);

}  // namespace tenon

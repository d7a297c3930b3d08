#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace tenon {

inline constexpr std::uint32_t kMostRanks = 1'000'000;

// Which process of a run this one is.
struct Rank {
  std::uint32_t rank = 0;  // 0 .. size-1
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;  // 0 .. local_size-1, among the processes of this node that the launcher started
  std::uint32_t local_size = 1;
  std::uint32_t node = 0;        // index of the node; of a launcher that does not tell, ranks in blocks are assumed
  std::string source;            // who said so, as a person reads it; empty: one process, no launcher
  std::string address;           // host name or address of the rendezvous; empty with one process
  std::uint16_t port = 0;        // its port
  bool one_machine = false;      // all nodes are this machine, as the launcher itself says
  bool has_scheduler = false;    // the launcher serves the rendezvous; else rank 0 does
  std::string job;               // identity of the job as far as the launcher gives one; the rendezvous completes it
  std::uint32_t generation = 0;  // how often the job was started again
  std::string node_name;         // name of this node

  bool many() const { return size > 1; }
};

// The place of a rank among all whose node_name is equal, whoever started them: they share memory. Two launchers on one
// machine number their own processes alone.
struct Neighbours {
  std::uint32_t index = 0, count = 1;
};

// What the launcher's variables say, whoever the launcher is: msrun, torchrun, mpirun of OpenMPI and MPICH, srun,
// Kubernetes. Size 1 and an empty source when no launcher's variables are there. Variables that are incomplete,
// unreadable or contradict each other, or two launchers that disagree, are errors that name variables and values.
// TENON_LAUNCHER names the one to believe.
Result<Rank> RankFromEnvironment();

// Value of a variable of the environment, or nothing.
using Variables = std::function<std::optional<std::string>(const char* name)>;
// The same from given variables, without asking the system for anything but its host name.
Result<Rank> RankFromVariables(const Variables& variables);

// "rank 1 of 4 (local 1 of 2, node 0), said by msrun, rendezvous 10.0.0.1:8118"
std::string Describe(const Rank& rank);

// Index of this node as the system that made the pod says it, for the launcher that runs inside one; and the name of
// the variable. Nothing outside pods.
struct NodeIndex {
  std::uint32_t index = 0;
  std::string variable;
};
Result<std::optional<NodeIndex>> NodeIndexFromVariables(const Variables& variables);

// Names of all variables by which a launcher tells one process its rank; a launcher inside another one removes them.
std::vector<std::string> RankVariableNames();

// "n[1-2,07],gpu3" -> n1, n2, n07, gpu3: the short form of lists of hosts. An error names the text and the place.
Result<std::vector<std::string>> ExpandHostList(std::string_view text);

}  // namespace tenon

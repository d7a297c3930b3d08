#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/comm/rank.h"

namespace tenon {

// Tasks on this node of the step, from the short form "2(x4),1"; `fallback` where the step does not tell.
Result<std::uint32_t> SlurmTasksOfNode(const Variables& variables, std::uint32_t fallback);

// Name of the first host of the step, where rank 0 runs.
Result<std::string> SlurmFirstHost(const Variables& variables);

// Where a host of the step is reached: its name when the system resolves it, else the address that the scheduler of the
// cluster knows, since names of nodes need not be names of hosts.
Result<std::string> SlurmAddressOf(const std::string& node);

}  // namespace tenon

#include "core/comm/rendezvous_limits.h"

#include <optional>
#include <string>

#include "configs/compat/launchers.h"
#include "core/base/env.h"
#include "core/base/number.h"
#include "core/base/text.h"

namespace tenon {
namespace {

// Seconds of a variable as nanoseconds; 0 (no limit) for a negative number where the launcher means that.
Status ReadSeconds(const char* names, std::uint64_t& limit_ns) {
  for (const std::string& name : Split(names, ' ')) {
    const std::optional<std::string> text = GetEnv(name.c_str());
    if (!text || text->empty()) continue;
    const auto seconds = ParseNumber<double>(*text);
    if (!seconds || !(*seconds > 0 || *seconds < 0) || *seconds > 1e8)
      return InvalidArgument("{}={} is not a number of seconds.", name, *text);
    limit_ns = *seconds < 0 ? 0 : static_cast<std::uint64_t>(*seconds * 1e9);
    return Status();
  }
  return Status();
}

}  // namespace

Result<rendezvous::Limits> RendezvousLimits() {
  rendezvous::Limits limits;
  TENON_TRY(ReadSeconds(compat::kTopologyTimeout, limits.topology_ns));
  TENON_TRY(ReadSeconds(compat::kNodeTimeout, limits.node_ns));
  TENON_TRY(ReadSeconds(compat::kRetryTimeout, limits.retry_ns));
  TENON_INVALID_IF(limits.node_ns == 0 || limits.retry_ns == 0, "{} and {} must be above 0 seconds.",
                   compat::kNodeTimeout, compat::kRetryTimeout);
  return limits;
}

}  // namespace tenon

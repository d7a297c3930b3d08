#pragma once

#include <cstdint>
#include <optional>

#include "core/config/table.h"

namespace tenon {

// What `tenon train --profile` records. Bounds and sentences stand in profile_config.cc.
struct ProfileConfig {
  std::int64_t first_step = 0;  // counted from 1 over the run; 0: from the start, with what comes before the first step
  std::optional<std::int64_t> last_step;  // to the end of the run when absent
  std::int64_t limit_mb = 256;
};

const ConfigTable& ConfigTableOf(const ProfileConfig*);

}  // namespace tenon

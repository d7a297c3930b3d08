#pragma once

#include "core/base/status.h"

namespace tenon {

// Exit code of a failed command: 2 wrong usage, config or input file; 3 a plugin or device is not available; 1 the rest.
inline int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return 0;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kDataLoss: return 2;
    case Code::kUnavailable: return 3;
    default: return 1;
  }
}

}  // namespace tenon

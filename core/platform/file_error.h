#pragma once

#include <string_view>

#include "core/base/status.h"

namespace tenon {

// "<Doing> '<path>' failed: <cause>." with the code that fits the errno value: a full disk is RESOURCE_EXHAUSTED, a
// missing file or folder NOT_FOUND, missing rights and read-only disks PERMISSION_DENIED. `doing` begins a sentence.
Status FileError(std::string_view doing, std::string_view path, int error_number);

// Beyond a limit on the file size (ulimit -f) a write ends the process by a signal; after this call it fails with an
// error instead. A handler that somebody else installed stays.
void TurnFileSizeSignalIntoError();

}  // namespace tenon

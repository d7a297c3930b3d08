// Declared exceptions: cases that a plugin is known to fail, each with its reason.
#pragma once

#include <map>
#include <string>

#include "core/base/status.h"

namespace tenon::conform {

// Case id -> reason. The file:
//
//   exceptions:
//     L1.38_peer_copy: there is one device, and no way to make another
//
// INVALID_ARGUMENT with the place for another shape, a case that does not exist, an empty reason.
Result<std::map<std::string, std::string>> ReadExceptions(const std::string& path);

// Beside the plugin: /a/b.so -> /a/b.conformance.yaml.
std::string ExceptionsBeside(const std::string& plugin);

}  // namespace tenon::conform

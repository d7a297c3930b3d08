#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/status.h"

namespace tenon {

// What a plugin file offers to a host, as one object:
//
//   id, version, build_id
//   note        {abi, oldest_host, draft, header_hash, kinds, flags, cpu_features, sanitizer}
//   interfaces  {"tenon.device": {bytes, slots {name: offered}}, "com.vendor.x": {version}}
//   operators, kernels, fused   sorted names
//   closed      in place of the three above: why this Tenon did not open the file
//
// The file is opened in a process of its own. An error for a file without a readable note.
Result<nlohmann::json> PluginFacts(const std::string& file);

}  // namespace tenon

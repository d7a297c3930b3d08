#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tenon {

enum class PluginState {
  kLoaded,   // an instance exists
  kSkipped,  // sound, but not needed, or the same as another
  kRefused,  // something is wrong with it
};

// What is known about one plugin file: a row of `tenon plugin list` and of summary.json.
struct PluginReport {
  std::string id;  // empty when the file told none
  std::string path;
  PluginState state = PluginState::kSkipped;
  std::string code;           // "TN-PLG-012", or empty
  std::string reason;         // a sentence; empty when loaded
  std::string abi_built;      // "1.0", or empty
  std::string abi_effective;  // likewise
  bool draft = false;
  std::string build_id;
  std::string version;
  std::vector<std::string> devices;  // "cpu:0"
  std::int64_t ops = 0;              // operators it defines or has kernels for
};

const char* PluginStateName(PluginState state);

// Array of objects: id, path, state, code, reason, abi {built, effective, draft}, build_id, version, devices, ops.
nlohmann::json PluginReportsToJson(std::span<const PluginReport> reports);

// Text table of at most 100 columns: id, version, ABI (built/effective), state, devices, operators, build id. Below
// each row stands the whole path, then the reason.
std::string PluginReportsToText(std::span<const PluginReport> reports);

}  // namespace tenon

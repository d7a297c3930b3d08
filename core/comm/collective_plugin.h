#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tenon/abi/collective.h"

namespace tenon {

class PluginRegistry;

inline constexpr const char* kCollectiveInterface = "tenon.collective";

// A plugin that offers collectives; lives as long as the registry.
struct CollectivePlugin {
  tenon_plugin* instance = nullptr;
  const tenon_collective_vtable* table = nullptr;
  std::string id, version;
  std::string abi;  // "1.0"
};

// The plugin of `parallel.comm`: "auto", a plugin id or a file name. UNAVAILABLE with the reasons when there is none.
Result<CollectivePlugin> FindCollective(PluginRegistry& registry, const std::string& name);

// Of an operation, TENON_COLLECTIVE_*: "all-reduce", and the plugin's slot for it; null where it has none.
std::string_view CollectiveName(std::uint32_t kind);
using CollectiveSlot = std::int32_t (*)(tenon_comm*, const tenon_collective_op*, tenon_error*);
CollectiveSlot SlotOf(const tenon_collective_vtable& table, std::uint32_t kind);

}  // namespace tenon

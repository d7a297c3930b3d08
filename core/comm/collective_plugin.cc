#include "core/comm/collective_plugin.h"

#include "core/plugin/plugin_registry.h"

namespace tenon {

Result<CollectivePlugin> FindCollective(PluginRegistry& registry, const std::string& name) {
  TENON_ASSIGN(const std::vector<Plugin*> found, registry.FindCollectives(name));
  const Plugin& plugin = *found.front();
  return CollectivePlugin{plugin.instance(), plugin.Interface<tenon_collective_vtable>(), plugin.id(), plugin.version(),
                          fmt::format("1.{}", plugin.abi_minor())};
}

std::string_view CollectiveName(std::uint32_t kind) {
  switch (kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
      return "all-reduce";
    case TENON_COLLECTIVE_REDUCE:
      return "reduce";
    case TENON_COLLECTIVE_BROADCAST:
      return "broadcast";
    case TENON_COLLECTIVE_ALL_GATHER:
      return "all-gather";
    case TENON_COLLECTIVE_SEND:
      return "send";
    case TENON_COLLECTIVE_RECV:
      return "receive";
    default:
      return "barrier";
  }
}

CollectiveSlot SlotOf(const tenon_collective_vtable& table, std::uint32_t kind) {
  switch (kind) {
    case TENON_COLLECTIVE_ALL_REDUCE:
      return table.all_reduce;
    case TENON_COLLECTIVE_REDUCE:
      return table.reduce;
    case TENON_COLLECTIVE_BROADCAST:
      return table.broadcast;
    case TENON_COLLECTIVE_ALL_GATHER:
      return table.all_gather;
    case TENON_COLLECTIVE_SEND:
      return table.send;
    case TENON_COLLECTIVE_RECV:
      return table.recv;
    default:
      return table.barrier;
  }
}

}  // namespace tenon

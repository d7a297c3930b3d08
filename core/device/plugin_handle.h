#pragma once

#include <cstdint>
#include <string>

#include "tenon/abi/device.h"
#include "tenon/abi/memory.h"
#include "tenon/abi/op.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/stream.h"
#include "tenon/abi/subgraph.h"

namespace tenon {

// What the engine needs of one loaded plugin: its instance and the negotiated tables (null when the plugin does not offer
// the interface; a slot that the plugin lacks is NULL). Everything lives as long as the plugin registry.
struct PluginHandle {
  tenon_plugin* instance = nullptr;
  std::string id;         // org.tenon.device_cpu
  std::string file_name;  // device_cpu.so, for messages
  int priority = 0;       // plugins.priority of the configuration
  const tenon_device_vtable* device = nullptr;
  const tenon_memory_vtable* memory = nullptr;
  const tenon_stream_vtable* stream = nullptr;
  const tenon_op_vtable* op = nullptr;
  const tenon_subgraph_vtable* subgraph = nullptr;
  std::uint32_t minor = 0;  // effective ABI minor
};

}  // namespace tenon

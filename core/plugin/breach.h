#pragma once

#include <string>
#include <string_view>

#include "core/plugin/plugin_message.h"

namespace tenon {

// One breach of the plugin contract that the checking layer (checked_tables.h) saw.
struct Breach {
  PluginMessage message = PluginMessage::kNone;
  std::string plugin;  // id
  std::string slot;    // "tenon.memory.free"
  std::string text;    // full sentence

  // "TN-PLG-103 plugin com.vendor.npu: tenon.memory.free: ..."
  std::string ToString() const;
};

// What happens with a breach. The default writes it to the log and ends the process with exit code 1: behind a breach
// nothing that the process says can be trusted. A handler that returns lets the call go on.
using BreachHandler = void (*)(const Breach& breach);
void SetBreachHandler(BreachHandler handler);

void ReportBreach(const Breach& breach);

// True from the first plugin on that runs under checks.
bool ChecksOn();
void TurnChecksOn();

}  // namespace tenon

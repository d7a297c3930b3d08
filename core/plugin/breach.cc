#include "core/plugin/breach.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

#include "core/base/log.h"

namespace tenon {
namespace {

[[noreturn]] void EndProcess(const Breach& breach) {
  Log(LogLevel::kCritical, "plugin", breach.ToString());
  FlushLog();
  std::_Exit(1);
}

std::atomic<BreachHandler> g_handler{&EndProcess};
std::atomic<bool> g_checks_on{false};

}  // namespace

std::string Breach::ToString() const {
  return fmt::format("{} plugin {}: {}: {}", PluginCode(message), plugin, slot, text);
}

void SetBreachHandler(BreachHandler handler) { g_handler.store(handler == nullptr ? &EndProcess : handler); }

void ReportBreach(const Breach& breach) { g_handler.load()(breach); }

bool ChecksOn() { return g_checks_on.load(std::memory_order_relaxed); }

void TurnChecksOn() { g_checks_on.store(true, std::memory_order_relaxed); }

}  // namespace tenon

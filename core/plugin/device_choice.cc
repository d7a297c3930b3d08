// Which device of which plugin a run gets for "cpu" or "npu:1".
#include <fmt/format.h>

#include <algorithm>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_registry.h"

namespace tenon {
namespace {

// "npu:1" -> {"npu", 1}; false for a malformed index.
// No index: whichever device of the kind suits this process.
bool SplitDevice(const std::string& text, std::string* kind, std::optional<std::uint32_t>* index) {
  const std::size_t colon = text.find(':');
  *kind = text.substr(0, colon);
  if (colon == std::string::npos) return !kind->empty();
  *index = ParseNumber<std::uint32_t>(std::string_view(text).substr(colon + 1));
  return !kind->empty() && index->has_value();
}

bool Contains(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

}  // namespace

// All of them, also after the first match: two plugins that offer the same kind must not be told apart by luck. One
// whose kernels are all for other kinds is not created.
void PluginRegistry::OpenDevicePlugins(const std::string& kind) {
  for (Candidate* candidate : Unopened(TENON_KIND_DEVICE, kind)) {
    Status status = Open(candidate);
    if (status.ok()) {
      const std::vector<std::string> kinds = candidate->plugin->KernelDeviceKinds();
      if (!kinds.empty() && !Contains(kinds, kind)) continue;
      status = Create(candidate);
    }
    if (!status.ok()) Warn(status.message());
  }
}

Result<const PluginDevice*> PluginRegistry::FindDevice(const std::string& text, std::uint32_t local_rank) {
  std::string kind;
  std::optional<std::uint32_t> index;
  if (!SplitDevice(text, &kind, &index))
    return InvalidArgument("The device '{}' is not a kind or kind:index, such as cpu or npu:1.", text);
  const auto offered = [this, &kind] {
    return std::any_of(creation_order_.begin(), creation_order_.end(), [&kind](const Candidate* candidate) {
      return std::any_of(candidate->devices.begin(), candidate->devices.end(),
                         [&kind](const PluginDevice& device) { return device.kind == kind; });
    });
  };
  if (!offered()) OpenDevicePlugins(kind);
  if (!offered()) return NoDevice(kind);
  return ChooseDevice(kind, index, local_rank);
}

Result<const PluginDevice*> PluginRegistry::ChooseDevice(const std::string& kind, std::optional<std::uint32_t> index,
                                                         std::uint32_t local_rank) const {
  const Candidate* best = nullptr;
  const Candidate* tie = nullptr;
  for (const Candidate* candidate : creation_order_) {
    const bool offers = std::any_of(candidate->devices.begin(), candidate->devices.end(),
                                    [&kind](const PluginDevice& device) { return device.kind == kind; });
    if (!offers) continue;
    const int priority = Priority(candidate->plugin->id());
    if (best == nullptr || priority > Priority(best->plugin->id())) {
      best = candidate;
      tie = nullptr;
    } else if (priority == Priority(best->plugin->id())) {
      tie = candidate;
    }
  }
  if (tie != nullptr) {
    return PluginError(PluginMessage::kSameDeviceKind, "",
                       "two plugins offer the device kind '{}': {} ({}) and {} ({}). Write plugins: {{priority: {{{}: "
                       "1}}}}, or load only one.",
                       kind, best->plugin->id(), best->check.path, tie->plugin->id(), tie->check.path,
                       best->plugin->id());
  }
  std::vector<const PluginDevice*> devices;
  for (const PluginDevice& device : best->devices) {
    if (device.kind == kind) devices.push_back(&device);
  }
  // One device is for all processes of the node, of several each has its own.
  const std::uint32_t wanted = index.value_or(devices.size() == 1 ? 0 : local_rank);
  for (const PluginDevice* device : devices) {
    if (device->kind_index == wanted) return device;
  }
  if (index)
    return PluginError(PluginMessage::kDeviceIndex, "",
                       "there is no device {}:{}; {} offers {} of kind '{}', counted from 0.", kind, wanted,
                       best->plugin->id(), devices.size(), kind);
  return PluginError(PluginMessage::kDeviceIndex, "",
                     "this process is number {} of its node, counted from 0, and {} offers {} devices of kind '{}': "
                     "start at most {} on a node, or name the device that they share, such as {}:0.",
                     local_rank, best->plugin->id(), devices.size(), kind, devices.size(), kind);
}

Status PluginRegistry::NoDevice(const std::string& kind) const {
  std::vector<std::string> known;
  const auto know = [&known](const std::string& name) {
    if (!name.empty() && !Contains(known, name)) known.push_back(name);
  };
  for (const auto& candidate : candidates_) {
    for (const PluginDevice& device : candidate->devices) know(device.kind);
    // Device plugins that were opened but not created, because their kernels are for other kinds.
    const bool is_device =
        candidate->plugin != nullptr && candidate->plugin->Interface<tenon_device_vtable>() != nullptr;
    if (!is_device || candidate->created()) continue;
    for (const std::string& name : candidate->plugin->KernelDeviceKinds()) know(name);
  }
  for (const Candidate* candidate : creation_order_) {
    if (!Contains(candidate->plugin->KernelDeviceKinds(), kind)) continue;
    Result<std::vector<PluginDevice>> devices = candidate->plugin->ListDevices();
    return PluginError(PluginMessage::kNoDevices, "",
                       "device kind '{}' is known ({} is loaded) but reports 0 devices{}", kind,
                       candidate->plugin->id(), devices.ok() ? "." : ": " + devices.status().message());
  }
  if (Contains(known, kind)) {
    return PluginError(PluginMessage::kNoDevices, "", "device kind '{}' is known, but no plugin for it started.{}",
                       kind, FailedReasons(TENON_KIND_DEVICE));
  }
  const std::string nearest = NearestName(kind, known);
  std::string text = fmt::format("no plugin offers the device kind '{}'", kind);
  if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  text += known.empty() ? "; no device kind is known."
                        : fmt::format("{} Known kinds: {}.", nearest.empty() ? "." : "", JoinAnd(known));
  return PluginError(PluginMessage::kUnknownDeviceKind, "", "{} Searched: {}.{}", text, search_.DescribeFolders(),
                     FailedReasons(TENON_KIND_DEVICE));
}

}  // namespace tenon

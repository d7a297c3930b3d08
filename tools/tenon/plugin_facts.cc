#include "tools/tenon/plugin_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/platform/file_identity.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/plugin_library.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_precheck.h"
#include "tools/tenon/plugin_child.h"

namespace tenon {
namespace {

using nlohmann::json;

json NoteFacts(const PluginNote& note) {
  return {{"abi", fmt::format("{}.{}", note.abi_major, note.abi_minor)},
          {"oldest_host", fmt::format("{}.{}", note.abi_major, note.oldest_host_minor)},
          {"draft", note.draft != 0},
          {"header_hash", note.draft != 0 ? note.header_hash : ""},
          {"kinds", note.kinds},
          {"flags", note.flags},
          {"cpu_features", note.cpu_features},
          {"sanitizer", note.sanitizer}};
}

json InterfaceFacts(const PluginLibrary& library) {
  json interfaces = json::object();
  for (const std::string& id : library.interface_ids()) {
    const InterfaceLayout* layout = FindInterfaceLayout(id);
    if (layout == nullptr) {
      std::uint32_t version = 0;
      library.VendorInterface(id, &version);
      interfaces[id] = {{"version", version}};
      continue;
    }
    json slots = json::object();
    for (const InterfaceSlot& slot : layout->slots) {
      const void* value = nullptr;
      std::memcpy(&value, static_cast<const char*>(library.FindTable(id)) + slot.offset, sizeof value);
      slots[slot.name] = value != nullptr;
    }
    interfaces[id] = {{"bytes", library.StatedSize(id)}, {"slots", std::move(slots)}};
  }
  return interfaces;
}

// Names of a list that a slot of the form (plugin, first, count, stride, error) gives; the plugin is not created.
template <class T, class Slot, class NameOf>
std::vector<std::string> Names(Slot slot, NameOf name_of) {
  std::vector<std::string> names;
  const T* first = nullptr;
  std::uint64_t count = 0, stride = 0;
  tenon_error error;
  if (slot == nullptr || slot(nullptr, &first, &count, &stride, &error) != TENON_OK) return names;
  const char* at = static_cast<const char*>(static_cast<const void*>(first));
  for (std::uint64_t i = 0; i < count; ++i, at += stride)
    names.push_back(name_of(*static_cast<const T*>(static_cast<const void*>(at))));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string OperatorName(tenon_str domain, tenon_str type) {
  return View(domain).empty() ? std::string(View(type)) : fmt::format("{}::{}", View(domain), View(type));
}

json OpenedFacts(const PluginLibrary& library) {
  json facts = {{"interfaces", InterfaceFacts(library)},
                {"operators", json::array()},
                {"kernels", json::array()},
                {"fused", json::array()}};
  if (const auto* ops = library.Interface<tenon_op_vtable>()) {
    facts["operators"] = Names<tenon_operator_def>(
        ops->list_operators, [](const tenon_operator_def& def) { return OperatorName(def.domain, def.op_type); });
    facts["kernels"] = Names<tenon_kernel_def>(ops->list_kernels, [](const tenon_kernel_def& def) {
      return fmt::format("{} {} ({})", View(def.device_kind), OperatorName(def.domain, def.op_type), View(def.name));
    });
  }
  if (const auto* subgraph = library.Interface<tenon_subgraph_vtable>())
    facts["fused"] = Names<tenon_fused_def>(subgraph->list_fused,
                                            [](const tenon_fused_def& def) { return std::string(View(def.name)); });
  return facts;
}

// In the child: what the opened library says, or why it is closed.
json OpenAndDescribe(const PluginPrecheck& plugin) {
  std::vector<std::string> changes;
  const auto library = PluginLibrary::Open(plugin, &changes);
  if (!library.ok()) return {{"closed", library.status().message()}};
  return OpenedFacts(**library);
}

}  // namespace

Result<json> PluginFacts(const std::string& file) {
  const PluginPrecheck plugin =
      PrecheckPlugin({AbsolutePath(file, CurrentFolder()), PluginOrigin::kLoadPath, {}, {}}, TrustPolicy::kOff);
  if (!plugin.has_note) return Status(plugin.status);
  json facts = {{"id", plugin.note.id},
                {"version", plugin.note.version},
                {"build_id", plugin.build_id},
                {"note", NoteFacts(plugin.note)}};
  if (!plugin.status.ok()) {
    facts["closed"] = plugin.status.message();
    return facts;
  }
  TENON_ASSIGN(const PluginAnswer answer, AskInChild([&plugin] { return OpenAndDescribe(plugin).dump(); }));
  json opened = json::parse(answer.text, nullptr, /*allow_exceptions=*/false);
  if (opened.is_object()) {
    facts.update(opened);
  } else {
    facts["closed"] =
        PluginError(PluginMessage::kCrashed, plugin.file_name(),
                    "{} when it was opened. Report it to the vendor of {}.", answer.failure, plugin.note.id)
            .message();
  }
  return facts;
}

}  // namespace tenon

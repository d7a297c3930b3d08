#include "core/plugin/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/platform/process_state.h"
#include "core/plugin/abi_trace.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/plugin_message.h"
#include "core/plugin/plugin_records.h"

namespace tenon {

namespace {

// Calls `visit` for each record that the plugin lists.
template <class T, class List, class F>
void ForEachListed(const char* slot, List list, tenon_plugin* instance, F&& visit) {
  if (list == nullptr) return;
  const T* first = nullptr;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;
  tenon_error error;
  const std::int32_t code = CallAbi(TENON_INTERFACE_OP, slot, list, instance, &first, &count, &stride, &error);
  if (code != TENON_OK || first == nullptr || stride < 2 * sizeof(std::uint32_t)) return;
  for (std::uint64_t i = 0; i < count; ++i) visit(RecordAt(first, stride, i));
}

template <class T>
void SortUnique(std::vector<T>* items) {
  std::sort(items->begin(), items->end());
  items->erase(std::unique(items->begin(), items->end()), items->end());
}

}  // namespace

std::string PluginDevice::text() const { return fmt::format("{}:{}", kind, kind_index); }

Plugin::Plugin(const PluginLibrary* library, const HostContext& context, ConfigNode options)
    : library_(library),
      services_(context, library->id(), library->file_name(), std::move(options)),
      label_("plugin " + library->id()) {
  if (!context.check) return;
  checked_ = CheckedTables::Make(
      library->id(), {library->Interface<tenon_device_vtable>(), library->Interface<tenon_memory_vtable>(),
                      library->Interface<tenon_stream_vtable>(), library->Interface<tenon_op_vtable>(),
                      library->Interface<tenon_subgraph_vtable>(), library->Interface<tenon_collective_vtable>(),
                      library->Interface<tenon_profiler_vtable>()});
}

Plugin::~Plugin() { Destroy(); }

Status Plugin::Usable() const {
  if (destroyed_)
    return PluginError(PluginMessage::kShutDown, library_->file_name(), "was shut down; {} cannot be used any longer.",
                       id());
  return services_.Usable();
}

Status Plugin::ToStatus(std::int32_t code, const tenon_error& error) const {
  return tenon::ToStatus(code, error, label_);
}

Status Plugin::Create() {
  if (instance_ != nullptr) return Status();
  TENON_TRY(Usable());
  const ProcessState before = CaptureProcessState();
  const Status created = CallCreate();
  const std::vector<std::string> changed = DescribeChanges(before, CaptureProcessState(), /*threads_too=*/false);
  if (!changed.empty()) {
    changes_.push_back(PluginError(PluginMessage::kProcessChanged, library_->file_name(),
                                   "changed the process while it started: {}.", JoinAnd(changed))
                           .message());
  }
  // A bad value under `options:` is the user's news even when the plugin overlooked it or reported it in its own words.
  Status problem = options().problem();
  if (problem.ok() && created.ok()) problem = options().UnknownKeys();
  if (!problem.ok()) {
    Destroy();
    return problem;
  }
  return created;
}

Status Plugin::CallCreate() {
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.host = services_.api();
  args.thread_budget = args.host->thread_budget(args.host->host);
  args.instance_name = ToStr(id());
  args.plugin_path = ToStr(library_->path());
  tenon_error error;
  std::int32_t code = TENON_OK;
  tenon_plugin* made = nullptr;
  try {
    code = CallAbi("tenon.plugin", "create", library_->descriptor().create, &args, &made, &error);
  } catch (const std::exception& thrown) {
    return PluginError(PluginMessage::kThrew, library_->file_name(),
                       "threw a C++ exception out of create: {}. A plugin must catch it and return a code; report it "
                       "to the vendor of {}.",
                       thrown.what(), id());
  } catch (...) {
    return PluginError(PluginMessage::kThrew, library_->file_name(),
                       "threw something that is no std::exception out of create. A plugin must catch it and return a "
                       "code; report it to the vendor of {}.",
                       id());
  }
  if (code != TENON_OK) {
    const Status reason = tenon::ToStatus(code, error, "");
    const ConfigNode& written = options().written();
    // Nothing else that a plugin is given can be invalid.
    if (code == TENON_INVALID_ARGUMENT && written.is_map() && !written.entries().empty())
      return PluginError(PluginMessage::kBadOption, library_->file_name(), "{} {} refuses its options: {}", id(),
                         version(), reason.message())
          .At(written.place().ToString());
    return PluginError(PluginMessage::kCreateFailed, library_->file_name(), "{} {} could not start ({}): {}", id(),
                       version(), CodeName(reason.code()), reason.message());
  }
  if (made == nullptr) {
    return PluginError(PluginMessage::kCreateFailed, library_->file_name(),
                       "{} {} said OK to create but gave no instance. Report it to the vendor.", id(), version());
  }
  instance_ = made;
  if (checked_ != nullptr) checked_->Created(instance_);
  return Status();
}

void Plugin::Destroy() {
  if (destroyed_) return;
  destroyed_ = true;
  if (checked_ != nullptr && instance_ != nullptr) checked_->Destroyed(instance_);
  // In a forked child the instance belongs to the parent.
  if (instance_ != nullptr && services_.Usable().ok()) {
    try {
      CallAbi("tenon.plugin", "destroy", library_->descriptor().destroy, instance_);
    } catch (...) {
      TENON_LOG(kWarning, "plugin", "{} {}: threw a C++ exception out of destroy. Report it to the vendor of {}.",
                PluginCode(PluginMessage::kThrew), library_->file_name(), id());
    }
  }
  instance_ = nullptr;
  services_.Close();
}

Result<std::vector<PluginDevice>> Plugin::ListDevices() {
  std::vector<PluginDevice> devices;
  const auto* table = Interface<tenon_device_vtable>();
  if (table == nullptr || instance_ == nullptr) return devices;
  TENON_TRY(Usable());
  const auto failed = [this](std::int32_t code, const tenon_error& error) {
    return PluginError(PluginMessage::kDeviceListFailed, library_->file_name(), "{} cannot list its devices: {}", id(),
                       tenon::ToStatus(code, error, "").message());
  };
  std::uint32_t count = 0;
  tenon_error error;
  std::int32_t code = CallAbi(TENON_INTERFACE_DEVICE, "device_count", table->device_count, instance_, &count, &error);
  if (code != TENON_OK) return failed(code, error);
  for (std::uint32_t index = 0; index < count; ++index) {
    tenon_device_info info = TENON_INIT(tenon_device_info);
    info.numa_node = -1;
    code = CallAbi(TENON_INTERFACE_DEVICE, "device_info", table->device_info, instance_, index, &info, &error);
    if (code != TENON_OK) return failed(code, error);
    PluginDevice device;
    device.plugin = this;
    device.index = index;
    device.flags = info.flags;
    device.kind = View(info.kind);
    device.name = View(info.name);
    device.unique_id = View(info.unique_id);
    device.memory_bytes = static_cast<std::int64_t>(info.memory_bytes);
    device.native_stream_kind = View(info.native_stream_kind);
    device.native_memory_kind = View(info.native_memory_kind);
    device.numa_node = info.numa_node;
    device.driver_version = View(info.driver_version);
    device.kind_index = static_cast<std::uint32_t>(
        std::count_if(devices.begin(), devices.end(),
                      [&device](const PluginDevice& earlier) { return earlier.kind == device.kind; }));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<std::string> Plugin::KernelDeviceKinds() const {
  std::vector<std::string> kinds;
  if (const auto* table = library_->Interface<tenon_op_vtable>()) {  // constant tables: nothing to check
    ForEachListed<tenon_kernel_def>(
        "list_kernels", table->list_kernels, instance_,
        [&kinds](const tenon_kernel_def& kernel) { kinds.emplace_back(View(kernel.device_kind)); });
  }
  SortUnique(&kinds);
  return kinds;
}

std::vector<std::pair<std::string, std::string>> Plugin::Operators() const {
  std::vector<std::pair<std::string, std::string>> operators;
  if (const auto* table = library_->Interface<tenon_op_vtable>()) {
    ForEachListed<tenon_operator_def>(
        "list_operators", table->list_operators, instance_,
        [&operators](const tenon_operator_def& def) { operators.emplace_back(View(def.domain), View(def.op_type)); });
    ForEachListed<tenon_kernel_def>(
        "list_kernels", table->list_kernels, instance_,
        [&operators](const tenon_kernel_def& def) { operators.emplace_back(View(def.domain), View(def.op_type)); });
  }
  SortUnique(&operators);
  return operators;
}

}  // namespace tenon

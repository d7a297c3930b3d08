#include "core/exec/runtime.h"

#include <filesystem>

#include "core/ops/plugin_operators.h"
#include "core/platform/process.h"
#include "core/plugin/abi_trace.h"

namespace tenon::exec {

PluginHandle HandleOf(const Plugin& plugin, int priority) {
  PluginHandle handle;
  handle.instance = plugin.instance();
  handle.id = plugin.id();
  handle.file_name = std::filesystem::path(plugin.library().path()).filename().string();
  handle.priority = priority;
  handle.device = plugin.Interface<tenon_device_vtable>();
  handle.memory = plugin.Interface<tenon_memory_vtable>();
  handle.stream = plugin.Interface<tenon_stream_vtable>();
  handle.op = plugin.Interface<tenon_op_vtable>();
  handle.subgraph = plugin.Interface<tenon_subgraph_vtable>();
  handle.minor = plugin.abi_minor();
  return handle;
}

Status CheckThreads(int threads) {
  const int cores = UsableCores(), most = std::max(64, 4 * cores);
  TENON_INVALID_IF(
      threads > most,
      "{} compute threads were asked for; this machine has {} cores, and at most {} threads make sense on it.", threads,
      cores, most);
  return {};
}

Result<std::unique_ptr<Runtime>> Runtime::Open(const RuntimeOptions& options) {
  TENON_TRY(StartAbiTraceFromEnv());
  std::unique_ptr<Runtime> runtime(new Runtime);
  TENON_TRY(CheckThreads(options.threads));
  runtime->pool_ = std::make_unique<ThreadPool>(options.threads == 0 ? UsableCores() : options.threads);
  PluginRegistry::Options registry_options;
  registry_options.host.pool = runtime->pool_.get();
  registry_options.search.plugin_dirs = options.plugin_dirs;
  runtime->registry_ = std::make_unique<PluginRegistry>(std::move(registry_options));
  TENON_TRY(runtime->registry_->Load(options.plugins));
  TENON_ASSIGN(const PluginDevice* found, runtime->registry_->FindDevice(options.device, options.local_rank));
  std::vector<const PluginHandle*> handles;
  const PluginHandle* owner = nullptr;
  for (const Plugin* plugin : runtime->registry_->plugins()) {
    const int priority = runtime->registry_->Priority(plugin->id());
    runtime->handles_.push_back(std::make_unique<PluginHandle>(HandleOf(*plugin, priority)));
    handles.push_back(runtime->handles_.back().get());
    if (plugin == found->plugin) owner = handles.back();
    const PluginHandle& handle = *handles.back();
    if (handle.op != nullptr)
      TENON_TRY(AddPluginOperators(*handle.op, handle.instance, handle.file_name, runtime->ops_));
  }
  if (owner == nullptr) return Error(Code::kInternal, "The plugin of device '{}' was not created.", options.device);
  TENON_ASSIGN(runtime->device_, Device::Open(*owner, found->index));
  QueryOptions query;
  query.thread_budget = static_cast<std::uint32_t>(runtime->pool_->threads());
  query.math_high = options.math_high;
  query.host_fallback = options.host_fallback;
  TENON_ASSIGN(runtime->target_, DeviceTarget::Make(*runtime->device_, handles, query));
  return runtime;
}

Runtime::~Runtime() {
  target_.reset();
  device_.reset();
  if (registry_ != nullptr) registry_->Shutdown();
}

}  // namespace tenon::exec

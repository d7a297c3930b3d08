#include <filesystem>

#include "core/api/internal.h"
#include "core/platform/dynamic_library.h"
#include "core/train/run_config.h"

namespace tenon::api {

const char* Version() { return TENON_VERSION_STRING; }

Error::~Error() = default;

// An exception need not say that it is an error; the address of a file stays.
void Throw(const Status& status) {
  constexpr std::string_view kHead = "error: ";
  std::string text = status.ToString();
  if (text.starts_with(kHead)) text.erase(0, kHead.size());
  throw Error(static_cast<int>(status.code()), text);
}

namespace {

// <folder of this library>/tenon/plugins
std::string PluginFolder() {
  const std::filesystem::path library(FolderOfCode(reinterpret_cast<const void*>(&PluginFolder)));
  if (library.empty()) return "";
  const std::filesystem::path folder = library / "tenon" / "plugins";
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) ? folder.string() : "";
}

exec::RuntimeOptions ToOptions(const RuntimeOptions& options) {
  exec::RuntimeOptions made;
  made.device = options.device;
  made.threads = options.threads;
  if (!options.config.empty()) {
    ConfigSource source;
    source.path = options.config;
    const RunConfig config = Value(LoadRunConfig(source, RunConfigPart::kPluginsOnly));
    made.plugins = config.plugins;
    made.device = config.device;
    made.threads = static_cast<int>(config.threads);
    made.math_high = config.math == MathMode::kHigh;
    made.host_fallback = config.fallback != FallbackPolicy::kForbid;
  }
  for (const std::string& plugin : options.plugins) {
    PluginLoadEntry entry;
    entry.required = true;
    (plugin.find('/') == std::string::npos ? entry.name : entry.path) = plugin;
    made.plugins.load.push_back(std::move(entry));
  }
  made.plugin_dirs = options.folders;
  if (const std::string own = PluginFolder(); !own.empty()) made.plugin_dirs.push_back(own);
  return made;
}

// The core goes with the last tensor.
void LetGo(Runtime::Core* core) {
  if (core->engine == nullptr || core->engine->live_blocks() == 0) {
    delete core;
    return;
  }
  core->engine->on_last_tensor([core] { delete core; });
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options) {
  if (options.threads < 0 || options.threads > 4096)
    Throw(InvalidArgument("RuntimeOptions::threads is {}; it must be 0 (all cores) to 4096.", options.threads));
  auto core = std::make_unique<Core>();
  const exec::RuntimeOptions opened = ToOptions(options);
  core->runtime = Value(exec::Runtime::Open(opened));
  core->seed = options.seed;
  core->math_high = opened.math_high;
  if (core->math_high && !core->runtime->target().catalog().HasMathHigh())
    Throw(tenon::Error(Code::kUnavailable,
                       "No plugin has kernels for device '{}' that 'math: high' of {} changes. 'math: exact' is the "
                       "default.",
                       opened.device, options.config));
  exec::EagerOptions engine;
  engine.threads = static_cast<std::uint32_t>(core->runtime->threads());
  engine.ops = &core->runtime->ops();
  core->engine = std::make_unique<exec::EagerEngine>(core->runtime->target(), engine);
  core->engine->set_user(core.get());
  core_ = std::shared_ptr<Core>(core.release(), LetGo);
}

Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Runtime::Core* Runtime::Core::Of(exec::EagerEngine* engine) { return static_cast<Core*>(engine->user()); }

std::string Runtime::device() const {
  const Device& device = core_->runtime->device();
  return fmt::format("{}:{}", device.kind(), device.index());
}

std::vector<std::string> Runtime::plugins() const {
  std::vector<std::string> ids;
  for (const Plugin* plugin : core_->runtime->registry().plugins()) ids.push_back(plugin->id());
  return ids;
}

int Runtime::threads() const { return core_->runtime->threads(); }

Runtime::PlanCounts Runtime::plan_counts() const {
  const auto& counts = core_->engine->plan_counts();
  return {counts.hits, counts.misses, counts.evictions};
}

}  // namespace tenon::api

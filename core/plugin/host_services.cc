#include "core/plugin/host_services.h"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/platform/process.h"
#include "core/plugin/breach.h"
#include "core/plugin/completion.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/host_handles.h"
#include "core/plugin/plugin_message.h"

// The host's side of the handle. Reached from plugin threads, so everything in it is atomic, constant or locks itself.
struct tenon_host {
  tenon_host(const tenon::HostContext& context, std::string id, std::string file, tenon::ConfigNode option_tree)
      : pool(context.pool),
        cache_root(context.cache_root),
        plugin_id(std::move(id)),
        options(std::move(option_tree), std::move(file)) {}

  std::atomic<bool> open{true};
  std::uint32_t fork_generation = 0;
  std::atomic<tenon::ThreadPool*> pool;
  const std::string cache_root;
  const std::string plugin_id;
  tenon::PluginOptions options;
  std::atomic<std::int64_t> held_bytes{0};
  std::mutex cache_mutex;    // guards cache_folder
  std::string cache_folder;  // made on first use
  tenon_host_api api{};
};

namespace tenon {

namespace {

std::atomic<std::uint32_t> g_fork_generation{0};

void CountFork() { g_fork_generation.fetch_add(1, std::memory_order_relaxed); }

void WatchForks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, CountFork);
  static_cast<void>(registered);
}

// Fills the sink when the host is closed or this is a forked child.
bool Usable(const tenon_host* host, tenon_error* error) noexcept {
  if (host == nullptr) {
    Fail(error, TENON_INVALID_ARGUMENT, "The host handle is NULL.");
    return false;
  }
  if (!host->open.load(std::memory_order_acquire)) {
    Fail(error, TENON_FAILED_PRECONDITION, "TN-PLG-091 The plugin was shut down; the host serves it no longer.");
    return false;
  }
  if (host->fork_generation != g_fork_generation.load(std::memory_order_relaxed)) {
    Fail(error, TENON_FAILED_PRECONDITION,
         "TN-PLG-092 This process was forked after the plugin had started; it can only exec or end.");
    return false;
  }
  return true;
}

// Code for a call that Usable refused.
std::int32_t Refused(const tenon_host* host) {
  return host == nullptr ? TENON_INVALID_ARGUMENT : TENON_FAILED_PRECONDITION;
}

std::int32_t FromStatus(const Status& status, tenon_error* error) {
  return status.ok() ? TENON_OK : Fail(error, static_cast<std::int32_t>(status.code()), status.message());
}

// No exception crosses the border; the only ones possible here are of memory.
template <class F>
std::int32_t Guarded(tenon_error* error, F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Fail(error, TENON_RESOURCE_EXHAUSTED, "The host is out of memory.");
  } catch (...) {
    return Fail(error, TENON_INTERNAL, "The host failed in an unexpected way.");
  }
}

void ErrorSet(tenon_error* error, const tenon_error_info* info) noexcept { FillError(error, info); }

// ---- log ----

LogLevel LevelFromAbi(std::uint32_t level) {
  switch (level) {
    case TENON_LOG_TRACE:
    case TENON_LOG_DEBUG:
      return LogLevel::kDebug;
    case TENON_LOG_WARNING:
      return LogLevel::kWarning;
    case TENON_LOG_ERROR:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

// Remembers when lines were last written. A fixed table: a collision costs a line too many or a few milliseconds of
// silence, never memory or a lock.
class RateLimit {
 public:
  bool Allows(std::string_view component, std::string_view text, std::uint32_t interval_ms) noexcept {
    const std::uint64_t hash = std::hash<std::string_view>()(text) * 31 + std::hash<std::string_view>()(component);
    Entry& entry = entries_[hash % kEntries];
    const std::int64_t now = MonotonicNs();
    const bool same = entry.hash.exchange(hash, std::memory_order_relaxed) == hash;
    std::int64_t last = entry.last_ns.load(std::memory_order_relaxed);
    if (same && now - last < std::int64_t{interval_ms} * 1'000'000) return false;
    return entry.last_ns.compare_exchange_strong(last, now, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kEntries = 256;
  struct Entry {
    std::atomic<std::uint64_t> hash{0};
    std::atomic<std::int64_t> last_ns{0};
  };
  Entry entries_[kEntries];
};

RateLimit& LogRate() {
  static auto* limit = new RateLimit;
  return *limit;
}

void HostLog(tenon_host* host, std::uint32_t level, tenon_str component, tenon_str text,
             std::uint32_t interval_ms) noexcept {
  if (!Usable(host, nullptr)) return;
  try {
    const std::string_view name = component.size > 0 ? View(component) : std::string_view(host->plugin_id);
    const LogLevel log_level = LevelFromAbi(level);
    if (!LogEnabled(log_level, name)) return;
    if (interval_ms > 0 && !LogRate().Allows(name, View(text), interval_ms)) return;
    Log(log_level, name, View(text));
  } catch (...) {
  }
}

// ---- memory ----

std::int32_t MemAlloc(tenon_host* host, std::uint64_t bytes, std::uint64_t align, tenon_str tag, void** out,
                      tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  if (out == nullptr) return Fail(error, TENON_INVALID_ARGUMENT, "mem_alloc needs a place for the result.");
  *out = nullptr;
  if (align == 0 || (align & (align - 1)) != 0)
    return Fail(error, TENON_INVALID_ARGUMENT, "The alignment is not a power of two.");
  if (bytes == 0) return TENON_OK;
  void* memory = nullptr;
  // More than any address space has is not worth asking for; sanitizers end the process over such a request.
  constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;
  if (bytes > kAddressSpace || align > kAddressSpace ||
      ::posix_memalign(&memory, std::max<std::uint64_t>(align, sizeof(void*)), bytes) != 0) {
    tenon_error_info info = TENON_INIT(tenon_error_info);
    info.code = TENON_RESOURCE_EXHAUSTED;
    info.requested_bytes = bytes;
    char text[160];
    const std::string_view name = View(tag).substr(0, 60);
    const auto end = fmt::format_to_n(text, sizeof(text), "Host memory for '{}' could not be allocated.", name);
    info.message = ToStr({text, std::min(end.size, sizeof(text))});
    FillError(error, &info);
    return TENON_RESOURCE_EXHAUSTED;
  }
  host->held_bytes.fetch_add(static_cast<std::int64_t>(::malloc_usable_size(memory)), std::memory_order_relaxed);
  *out = memory;
  return TENON_OK;
}

void MemFree(tenon_host* host, void* memory) noexcept {
  if (memory == nullptr) return;
  if (host != nullptr)
    host->held_bytes.fetch_sub(static_cast<std::int64_t>(::malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

// ---- threads ----

std::uint32_t ThreadBudget(tenon_host* host) noexcept {
  if (!Usable(host, nullptr)) return 1;
  const ThreadPool* pool = host->pool.load(std::memory_order_acquire);
  return pool == nullptr ? 1U : static_cast<std::uint32_t>(pool->threads());
}

std::int32_t ParallelForService(tenon_host* host, std::uint64_t count, std::uint64_t grain, std::uint32_t max_workers,
                                tenon_range_fn fn, void* user, tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  if (fn == nullptr) return Fail(error, TENON_INVALID_ARGUMENT, "parallel_for needs a function.");
  if (count > static_cast<std::uint64_t>(INT64_MAX))
    return Fail(error, TENON_INVALID_ARGUMENT, "parallel_for counts to 2^63 - 1.");
  if (count == 0) return TENON_OK;
  ThreadPool* pool = host->pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    fn(user, 0, count, 0);
    return TENON_OK;
  }
  const std::int64_t grain_limit = grain > count ? static_cast<std::int64_t>(count) : static_cast<std::int64_t>(grain);
  const int limit = static_cast<int>(std::min<std::uint32_t>(max_workers, 0xffff));
  pool->For(
      static_cast<std::int64_t>(count), grain_limit,
      [fn, user](std::int64_t begin, std::int64_t end, std::int32_t part) {
        fn(user, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end), static_cast<std::uint32_t>(part));
      },
      limit);
  return TENON_OK;
}

struct SubmittedTask {
  tenon_task_fn fn;
  void* user;
  tenon_task_fn release;
};

void RunSubmitted(void* memory) {
  auto* task = static_cast<SubmittedTask*>(memory);
  task->fn(task->user);
  if (task->release != nullptr) task->release(task->user);
  delete task;
}

std::int32_t SubmitService(tenon_host* host, tenon_task_fn fn, void* user, tenon_task_fn release,
                           tenon_error* error) noexcept {
  const auto refuse = [&](std::int32_t code) {
    if (release != nullptr) release(user);
    return code;
  };
  if (!Usable(host, error)) return refuse(Refused(host));
  if (fn == nullptr) return refuse(Fail(error, TENON_INVALID_ARGUMENT, "submit needs a function."));
  ThreadPool* pool = host->pool.load(std::memory_order_acquire);
  auto* task = new (std::nothrow) SubmittedTask{fn, user, release};
  if (task == nullptr) return refuse(Fail(error, TENON_RESOURCE_EXHAUSTED, "The host is out of memory."));
  if (pool == nullptr) {
    RunSubmitted(task);
    return TENON_OK;
  }
  if (pool->Submit(&RunSubmitted, task)) return TENON_OK;
  delete task;
  return refuse(Fail(error, TENON_RESOURCE_EXHAUSTED, "The host's thread pool takes no more tasks."));
}

void CompleteService(tenon_host* host, tenon_token* token, std::int32_t code, tenon_str text) noexcept {
  const bool first = CompletionQueue::Complete(token, code, View(text));
  if (!first && ChecksOn())
    ReportBreach(
        {PluginMessage::kCheckedToken, host->plugin_id, "complete", "A token was completed for the second time."});
}

std::uint32_t Cancelled(const tenon_cancel* cancel) noexcept {
  return cancel == nullptr ? 0U : cancel->requested.load(std::memory_order_acquire);
}

// ---- options ----

std::int32_t OptionI64(tenon_host* host, tenon_str key, std::int64_t default_value, std::int64_t low, std::int64_t high,
                       tenon_str help, std::int64_t* out, tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  return Guarded(error, [&] {
    Result<std::int64_t> value = host->options.Integer(View(key), default_value, low, high, View(help));
    *out = value.ok() ? *value : default_value;
    return FromStatus(value.status(), error);
  });
}

std::int32_t OptionF64(tenon_host* host, tenon_str key, double default_value, tenon_str help, double* out,
                       tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  return Guarded(error, [&] {
    Result<double> value = host->options.Number(View(key), default_value, View(help));
    *out = value.ok() ? *value : default_value;
    return FromStatus(value.status(), error);
  });
}

std::int32_t OptionFlag(tenon_host* host, tenon_str key, std::uint32_t default_value, tenon_str help,
                        std::uint32_t* out, tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  return Guarded(error, [&] {
    Result<bool> value = host->options.Flag(View(key), default_value != 0, View(help));
    *out = value.ok() ? static_cast<std::uint32_t>(*value) : default_value;
    return FromStatus(value.status(), error);
  });
}

std::int32_t OptionText(tenon_host* host, tenon_str key, tenon_str default_value, tenon_str help, tenon_str* out,
                        tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  return Guarded(error, [&] {
    Result<std::string_view> value = host->options.Text(View(key), View(default_value), View(help));
    *out = value.ok() ? ToStr(*value) : tenon_str{nullptr, 0};
    return FromStatus(value.status(), error);
  });
}

// ---- store ----

std::int32_t StoreGet(tenon_store* store, tenon_str key, std::uint64_t timeout_ns, void* buffer, std::uint64_t capacity,
                      std::uint64_t* size, tenon_error* error) noexcept {
  if (store == nullptr || store->store == nullptr)
    return Fail(error, TENON_UNAVAILABLE, "There is no key-value store in this run.");
  return Guarded(error, [&]() -> std::int32_t {
    Result<std::string> value = store->store->Get(View(key), timeout_ns);
    if (!value.ok()) return FromStatus(value.status(), error);
    if (size != nullptr) *size = value->size();
    if (value->size() > capacity) return Fail(error, TENON_OUT_OF_RANGE, "The value is larger than the buffer.");
    if (!value->empty()) std::copy(value->begin(), value->end(), static_cast<char*>(buffer));
    return TENON_OK;
  });
}

std::int32_t StorePut(tenon_store* store, tenon_str key, const void* data, std::uint64_t size,
                      tenon_error* error) noexcept {
  if (store == nullptr || store->store == nullptr)
    return Fail(error, TENON_UNAVAILABLE, "There is no key-value store in this run.");
  return Guarded(error, [&] {
    const std::string_view value =
        size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
    return FromStatus(store->store->Put(View(key), value), error);
  });
}

std::int32_t StoreDelete(tenon_store* store, tenon_str key, tenon_error* error) noexcept {
  if (store == nullptr || store->store == nullptr)
    return Fail(error, TENON_UNAVAILABLE, "There is no key-value store in this run.");
  return Guarded(error, [&] { return FromStatus(store->store->Delete(View(key)), error); });
}

// ---- time, names, places ----

std::uint64_t ClockNs(tenon_host*) noexcept { return static_cast<std::uint64_t>(MonotonicRawNs()); }

class InternTable {
 public:
  std::uint64_t Id(std::string_view text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    const std::uint64_t id = texts_.size();
    ids_.emplace(texts_.back(), id);
    return id;
  }
  std::string_view Text(std::uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return id == 0 || id > texts_.size() ? std::string_view() : std::string_view(texts_[id - 1]);
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint64_t> ids_;
};

InternTable& Interned() {
  static auto* table = new InternTable;
  return *table;
}

std::uint64_t Intern(tenon_host* host, tenon_str text) noexcept {
  if (!Usable(host, nullptr)) return 0;
  try {
    return Interned().Id(View(text));
  } catch (...) {
    return 0;
  }
}

std::string CacheRoot(const tenon_host& host) {
  if (!host.cache_root.empty()) return host.cache_root;
  if (const auto set = GetEnv("TENON_CACHE_DIR"); set && !set->empty()) return *set;
  if (const auto xdg = GetEnv("XDG_CACHE_HOME"); xdg && !xdg->empty()) return *xdg + "/tenon";
  if (const auto home = GetEnv("HOME"); home && !home->empty()) return *home + "/.cache/tenon";
  return "";
}

std::int32_t CacheFolder(tenon_host* host, tenon_str* out, tenon_error* error) noexcept {
  if (!Usable(host, error)) return Refused(host);
  return Guarded(error, [&]() -> std::int32_t {
    const std::lock_guard<std::mutex> lock(host->cache_mutex);
    if (host->cache_folder.empty()) {
      const std::string root = CacheRoot(*host);
      if (root.empty())
        return Fail(error, TENON_UNAVAILABLE,
                    "There is no cache folder: neither TENON_CACHE_DIR, XDG_CACHE_HOME nor HOME is set.");
      const std::string folder = root + "/" + host->plugin_id;
      const Status made = MakeFolders(folder);
      if (!made.ok()) return FromStatus(made, error);
      host->cache_folder = folder;
    }
    *out = ToStr(host->cache_folder);
    return TENON_OK;
  });
}

std::int32_t AllocOutput(tenon_output_alloc* alloc, std::uint32_t index, std::uint32_t rank, const std::int64_t* dims,
                         tenon_tensor* out, tenon_error* error) noexcept {
  if (alloc == nullptr || alloc->allocator == nullptr) {
    return Fail(error, TENON_FAILED_PRECONDITION,
                "This call has no output allocator; only kernels with the trait HOST_SYNC have one.");
  }
  return Guarded(error, [&] { return FromStatus(alloc->allocator->Allocate(index, {dims, rank}, out), error); });
}

// Every host state ever made. Plugins may keep the address for ever, so it stays reachable for leak checkers too.
void KeepForEver(tenon_host* host) {
  static auto* mutex = new std::mutex;
  static auto* hosts = new std::vector<tenon_host*>;
  const std::lock_guard<std::mutex> lock(*mutex);
  hosts->push_back(host);
}

void FillTable(tenon_host* host) {
  tenon_host_api& api = host->api;
  api.struct_size = sizeof(api);
  api.abi_minor = TENON_ABI_MINOR;
  api.host = host;
  api.error_set = &ErrorSet;
  api.log = &HostLog;
  api.mem_alloc = &MemAlloc;
  api.mem_free = &MemFree;
  api.thread_budget = &ThreadBudget;
  api.parallel_for = &ParallelForService;
  api.submit = &SubmitService;
  api.complete = &CompleteService;
  api.cancelled = &Cancelled;
  api.option_i64 = &OptionI64;
  api.option_f64 = &OptionF64;
  api.option_flag = &OptionFlag;
  api.option_text = &OptionText;
  api.store_get = &StoreGet;
  api.store_put = &StorePut;
  api.store_delete = &StoreDelete;
  api.clock_ns = &ClockNs;
  api.intern = &Intern;
  api.cache_folder = &CacheFolder;
  api.alloc_output = &AllocOutput;
}

}  // namespace

HostServices::HostServices(const HostContext& context, std::string plugin_id, std::string file_name, ConfigNode options)
    : state_(new tenon_host(context, std::move(plugin_id), std::move(file_name), std::move(options))) {
  KeepForEver(state_);
  WatchForks();
  state_->fork_generation = g_fork_generation.load(std::memory_order_relaxed);
  FillTable(state_);
}

HostServices::~HostServices() { Close(); }

const tenon_host_api* HostServices::api() const { return &state_->api; }

const PluginOptions& HostServices::options() const { return state_->options; }

void HostServices::Close() {
  state_->open.store(false, std::memory_order_release);
  state_->pool.store(nullptr, std::memory_order_release);
}

Status HostServices::Usable() const {
  tenon_error error;
  if (tenon::Usable(state_, &error)) return Status();
  return Status(Code::kFailedPrecondition, std::string(error.message_text()));
}

std::int64_t HostServices::held_bytes() const { return state_->held_bytes.load(std::memory_order_relaxed); }

std::string_view InternedText(std::uint64_t id) { return Interned().Text(id); }

}  // namespace tenon

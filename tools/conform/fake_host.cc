#include "tools/conform/fake_host.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>

#include "core/platform/process.h"

namespace tenon::conform {

// ---- store ----

namespace {
std::condition_variable& StoreChanged() {
  static auto* changed = new std::condition_variable;
  return *changed;
}
}  // namespace

Status MemoryStore::Injected() {
  ++calls_;
  if (fail_from_ > 0 && calls_ >= fail_from_) return Error(Code::kUnavailable, "The store failed on purpose.");
  return {};
}

Result<std::string> MemoryStore::Get(std::string_view key, std::uint64_t timeout_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  TENON_TRY(Injected());
  const auto wanted = std::chrono::steady_clock::now() +
                      std::chrono::nanoseconds(std::min<std::uint64_t>(timeout_ns, std::uint64_t{3600} << 30));
  for (;;) {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (timeout_ns == 0) return Error(Code::kNotFound, "There is no key '{}'.", key);
    if (StoreChanged().wait_until(lock, wanted) == std::cv_status::timeout && values_.find(key) == values_.end())
      return Error(Code::kDeadlineExceeded, "Key '{}' did not appear within {} ns.", key, timeout_ns);
  }
}

Status MemoryStore::Put(std::string_view key, std::string_view value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TENON_TRY(Injected());
  values_[std::string(key)] = std::string(value);
  StoreChanged().notify_all();
  return {};
}

Status MemoryStore::Delete(std::string_view key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TENON_TRY(Injected());
  const auto found = values_.find(key);
  if (found == values_.end()) return Error(Code::kNotFound, "There is no key '{}'.", key);
  values_.erase(found);
  return {};
}

void MemoryStore::FailFrom(std::int64_t call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_ = 0;
  fail_from_ = call;
}

// ---- services ----

// The slots. A tenon_host is the FakeHost itself.
struct Services {
  static FakeHost& Of(tenon_host* host) { return *reinterpret_cast<FakeHost*>(host); }

  static void Reenter(FakeHost& host) {
    thread_local bool inside = false;
    if (!host.reentry_ || inside) return;
    inside = true;
    host.reentry_();
    inside = false;
  }
  static std::int32_t Closed(tenon_error* error) {
    return Fail(error, TENON_FAILED_PRECONDITION, "The plugin instance was destroyed.");
  }

  static void Log(tenon_host* host, std::uint32_t, tenon_str, tenon_str, std::uint32_t) { Reenter(Of(host)); }

  static std::int32_t MemAlloc(tenon_host* handle, std::uint64_t bytes, std::uint64_t align, tenon_str, void** out,
                               tenon_error* error) {
    FakeHost& host = Of(handle);
    *out = nullptr;
    if (!host.open_) return Closed(error);
    if (host.allocs_.fetch_add(1) + 1 == host.faults_.fail_alloc_at)
      return Fail(error, TENON_RESOURCE_EXHAUSTED, "The host has no memory, on purpose.");
    if (align == 0 || (align & (align - 1)) != 0)
      return Fail(error, TENON_INVALID_ARGUMENT, "The alignment is not a power of two.");
    if (bytes == 0) return TENON_OK;
    void* memory = nullptr;
    if (bytes > (std::uint64_t{1} << 40) ||
        ::posix_memalign(&memory, std::max<std::uint64_t>(align, sizeof(void*)), bytes) != 0)
      return Fail(error, TENON_RESOURCE_EXHAUSTED, "Host memory could not be allocated.");
    std::memset(memory, 0xA5, bytes);
    host.live_blocks_.fetch_add(1);
    const std::lock_guard<std::mutex> lock(host.mutex_);
    host.blocks_[memory] = bytes;
    *out = memory;
    return TENON_OK;
  }
  static void MemFree(tenon_host* handle, void* memory) {
    if (memory == nullptr) return;
    FakeHost& host = Of(handle);
    {
      const std::lock_guard<std::mutex> lock(host.mutex_);
      host.context_.Require(host.blocks_.erase(memory) == 1,
                            "The plugin freed host memory that mem_alloc did not give, or freed it twice.");
    }
    host.live_blocks_.fetch_sub(1);
    std::free(memory);
  }

  static std::uint32_t ThreadBudget(tenon_host*) { return 2; }
  // Pieces in reverse order, on two threads: nothing may depend on which comes first.
  static std::int32_t ParallelFor(tenon_host* handle, std::uint64_t count, std::uint64_t grain, std::uint32_t,
                                  tenon_range_fn fn, void* user, tenon_error* error) {
    FakeHost& host = Of(handle);
    if (!host.open_) return Closed(error);
    if (host.faults_.fail_parallel_for) return Fail(error, TENON_FAILED_PRECONDITION, "No loop runs, on purpose.");
    if (count == 0) return TENON_OK;
    const std::uint64_t step = std::max<std::uint64_t>(std::max<std::uint64_t>(grain, 1), (count + 1) / 2);
    if (step >= count) {
      fn(user, 0, count, 0);
      return TENON_OK;
    }
    std::thread other([&] { fn(user, step, count, 1); });
    fn(user, 0, step, 0);
    other.join();
    return TENON_OK;
  }
  static std::int32_t Submit(tenon_host* handle, tenon_task_fn fn, void* user, tenon_task_fn release,
                             tenon_error* error) {
    if (!Of(handle).open_) {
      if (release != nullptr) release(user);
      return Closed(error);
    }
    std::thread([=] {
      fn(user);
      if (release != nullptr) release(user);
    }).detach();
    return TENON_OK;
  }
  static void Complete(tenon_host* handle, tenon_token* token, std::int32_t code, tenon_str text) {
    FakeHost& host = Of(handle);
    host.context_.Require(token != nullptr, "complete was called with a NULL token.");
    const bool first = CompletionQueue::Complete(token, code, View(text));
    host.context_.Require(first, "A completion token was completed twice; c.6 says exactly once.");
    Reenter(host);
  }
  static std::uint32_t Cancelled(const tenon_cancel* cancel) {
    return cancel == nullptr ? 0U : cancel->requested.load(std::memory_order_acquire);
  }

  static std::int32_t OptionI64(tenon_host* handle, tenon_str key, std::int64_t fallback, std::int64_t low,
                                std::int64_t high, tenon_str help, std::int64_t* out, tenon_error* error) {
    FakeHost& host = Of(handle);
    *out = fallback;
    const std::int32_t refused = BeforeOption(host, error);
    return refused != TENON_OK ? refused
                               : Store(host.options_.Integer(View(key), fallback, low, high, View(help)), out, error);
  }
  static std::int32_t OptionF64(tenon_host* handle, tenon_str key, double fallback, tenon_str help, double* out,
                                tenon_error* error) {
    FakeHost& host = Of(handle);
    *out = fallback;
    const std::int32_t refused = BeforeOption(host, error);
    return refused != TENON_OK ? refused : Store(host.options_.Number(View(key), fallback, View(help)), out, error);
  }
  static std::int32_t OptionFlag(tenon_host* handle, tenon_str key, std::uint32_t fallback, tenon_str help,
                                 std::uint32_t* out, tenon_error* error) {
    FakeHost& host = Of(handle);
    *out = fallback;
    bool value = fallback != 0;
    std::int32_t code = BeforeOption(host, error);
    if (code == TENON_OK) code = Store(host.options_.Flag(View(key), value, View(help)), &value, error);
    if (code == TENON_OK) *out = value ? 1 : 0;
    return code;
  }
  static std::int32_t OptionText(tenon_host* handle, tenon_str key, tenon_str fallback, tenon_str help, tenon_str* out,
                                 tenon_error* error) {
    FakeHost& host = Of(handle);
    std::string_view value = View(fallback);
    std::int32_t code = BeforeOption(host, error);
    if (code == TENON_OK) code = Store(host.options_.Text(View(key), value, View(help)), &value, error);
    *out = ToStr(value);
    return code;
  }
  static std::int32_t BeforeOption(FakeHost& host, tenon_error* error) {
    if (!host.open_) return Closed(error);
    if (host.option_calls_.fetch_add(1) + 1 == host.faults_.fail_option_at)
      return Fail(error, TENON_INVALID_ARGUMENT, "The option has another type, on purpose.");
    return TENON_OK;
  }
  template <class T>
  static std::int32_t Store(Result<T> value, T* out, tenon_error* error) {
    if (!value.ok()) return Fail(error, static_cast<std::int32_t>(value.status().code()), value.status().message());
    *out = *value;
    return TENON_OK;
  }

  static std::int32_t FromStatus(const Status& status, tenon_error* error) {
    return status.ok() ? TENON_OK : Fail(error, static_cast<std::int32_t>(status.code()), status.message());
  }
  static std::int32_t StoreGet(tenon_store* store, tenon_str key, std::uint64_t timeout_ns, void* buffer,
                               std::uint64_t capacity, std::uint64_t* size, tenon_error* error) {
    if (store == nullptr || store->store == nullptr) return Fail(error, TENON_UNAVAILABLE, "There is no store.");
    Result<std::string> value = store->store->Get(View(key), timeout_ns);
    if (!value.ok()) return FromStatus(value.status(), error);
    if (size != nullptr) *size = value->size();
    if (value->size() > capacity) return Fail(error, TENON_OUT_OF_RANGE, "The value is larger than the buffer.");
    if (!value->empty()) std::memcpy(buffer, value->data(), value->size());
    return TENON_OK;
  }
  static std::int32_t StorePut(tenon_store* store, tenon_str key, const void* data, std::uint64_t size,
                               tenon_error* error) {
    if (store == nullptr || store->store == nullptr) return Fail(error, TENON_UNAVAILABLE, "There is no store.");
    const std::string_view value(static_cast<const char*>(data), size);
    return FromStatus(store->store->Put(View(key), size == 0 ? std::string_view() : value), error);
  }
  static std::int32_t StoreDelete(tenon_store* store, tenon_str key, tenon_error* error) {
    if (store == nullptr || store->store == nullptr) return Fail(error, TENON_UNAVAILABLE, "There is no store.");
    return FromStatus(store->store->Delete(View(key)), error);
  }

  static std::uint64_t ClockNs(tenon_host*) { return static_cast<std::uint64_t>(MonotonicRawNs()); }
  static std::uint64_t Intern(tenon_host* handle, tenon_str text) {
    FakeHost& host = Of(handle);
    const std::lock_guard<std::mutex> lock(host.mutex_);
    return host.interned_.emplace(std::string(View(text)), host.interned_.size() + 1).first->second;
  }
  static std::int32_t CacheFolder(tenon_host* handle, tenon_str* out, tenon_error* error) {
    FakeHost& host = Of(handle);
    const std::lock_guard<std::mutex> lock(host.mutex_);
    if (host.cache_folder_.empty()) {
      char folder[] = "/tmp/tenon_conform_XXXXXX";
      if (::mkdtemp(folder) == nullptr) return Fail(error, TENON_UNAVAILABLE, "No cache folder could be made.");
      host.cache_folder_ = folder;
    }
    *out = ToStr(host.cache_folder_);
    return TENON_OK;
  }
  static std::int32_t AllocOutput(tenon_output_alloc* alloc, std::uint32_t index, std::uint32_t rank,
                                  const std::int64_t* dims, tenon_tensor* out, tenon_error* error) {
    if (alloc == nullptr || alloc->allocator == nullptr)
      return Fail(error, TENON_FAILED_PRECONDITION, "This call has no output allocator.");
    return FromStatus(alloc->allocator->Allocate(index, {dims, rank}, out), error);
  }
  static void TraceBegin(tenon_host*, tenon_str, std::uint64_t) {}
  static void TraceEnd(tenon_host*) {}
  static void Heartbeat(tenon_host*, tenon_str) {}
  static tenon_function Experimental(tenon_host*, tenon_str) { return nullptr; }
};

FakeHost::FakeHost(Context& context, const HostFaults& faults, ConfigNode options)
    : context_(context),
      faults_(faults),
      options_(std::move(options), "plugin"),
      table_memory_((sizeof(tenon_host_api) + faults.garbage_bytes + 7) / 8, 0xDEADBEEFDEADBEEFu),
      api_(reinterpret_cast<tenon_host_api*>(table_memory_.data())) {
  tenon_host_api& api = *api_;
  api = tenon_host_api{};
  api.struct_size = static_cast<std::uint32_t>(sizeof(api) + faults.garbage_bytes);
  api.abi_minor = faults.abi_minor;
  api.host = reinterpret_cast<tenon_host*>(this);
  api.error_set = [](tenon_error* error, const tenon_error_info* info) { FillError(error, info); };
  api.log = &Services::Log;
  api.mem_alloc = &Services::MemAlloc;
  api.mem_free = &Services::MemFree;
  api.thread_budget = &Services::ThreadBudget;
  api.parallel_for = &Services::ParallelFor;
  api.submit = &Services::Submit;
  api.complete = &Services::Complete;
  api.cancelled = &Services::Cancelled;
  api.option_i64 = &Services::OptionI64;
  api.option_f64 = &Services::OptionF64;
  api.option_flag = &Services::OptionFlag;
  api.option_text = &Services::OptionText;
  api.store_get = &Services::StoreGet;
  api.store_put = &Services::StorePut;
  api.store_delete = &Services::StoreDelete;
  api.clock_ns = &Services::ClockNs;
  api.intern = &Services::Intern;
  api.cache_folder = &Services::CacheFolder;
  api.alloc_output = &Services::AllocOutput;
  if (faults.no_optional_slots) return;
  api.trace_begin = &Services::TraceBegin;
  api.trace_end = &Services::TraceEnd;
  api.heartbeat = &Services::Heartbeat;
  api.get_experimental = &Services::Experimental;
}

std::string FakeHost::Interned(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [text, number] : interned_) {
    if (number == id) return text;
  }
  return "";
}

}  // namespace tenon::conform

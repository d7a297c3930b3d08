// Host services in C++.
#pragma once

#include <type_traits>

#include "tenon/sdk/error.h"

namespace tenon::sdk {

// The host's table; as cheap as a pointer. Valid as long as the plugin instance.
class Host {
 public:
  Host() = default;
  explicit Host(const tenon_host_api* api) : api_(api) {}
  const tenon_host_api* api() const { return api_; }

  // Writes the parts as one line. A message that repeats within interval_ms is counted by the host, not written.
  template <typename... Parts>
  void Log(uint32_t level, std::string_view component, const Parts&... parts) const {
    const TextBuffer text(parts...);
    api_->log(api_->host, level, Str(component), Str(text.View()), 0);
  }
  template <typename... Parts>
  void LogRarely(uint32_t level, uint32_t interval_ms, std::string_view component, const Parts&... parts) const {
    const TextBuffer text(parts...);
    api_->log(api_->host, level, Str(component), Str(text.View()), interval_ms);
  }

  uint32_t ThreadBudget() const { return api_->thread_budget(api_->host); }
  uint64_t ClockNs() const { return api_->clock_ns(api_->host); }
  uint64_t Intern(std::string_view text) const { return api_->intern(api_->host, Str(text)); }
  void Complete(tenon_token* token, int32_t code, std::string_view text = {}) const {
    api_->complete(api_->host, token, code, Str(text));
  }
  static bool Cancelled(const Host& host, const tenon_cancel* cancel) {
    return cancel != nullptr && host.api_->cancelled(cancel) != 0;
  }

  // body(begin, end, worker) over [0, count) in pieces of at least grain on at most workers threads (0: the budget).
  // Allocates nothing. An exception of body ends the loop with an error.
  template <typename Body>
  int32_t ParallelFor(int64_t count, int64_t grain, uint32_t workers, Error& error, Body&& body) const {
    using Function = std::remove_reference_t<Body>;
    struct Context {
      Function* body;
      const tenon_host_api* host;
      tenon_error* sink;
      int32_t code;
    } context{&body, api_, error.sink(), TENON_OK};
    const auto run = [](void* user, uint64_t begin, uint64_t end, uint32_t worker) noexcept {
      Context& shared = *static_cast<Context*>(user);
      try {
        (*shared.body)(static_cast<int64_t>(begin), static_cast<int64_t>(end), worker);
      } catch (...) {
        const int32_t code = FailFromException(shared.host, nullptr);
        __atomic_store_n(&shared.code, code, __ATOMIC_RELAXED);
      }
    };
    const int32_t code = api_->parallel_for(api_->host, static_cast<uint64_t>(count), static_cast<uint64_t>(grain),
                                            workers, run, &context, error.sink());
    if (code != TENON_OK) return code;
    if (context.code != TENON_OK) return error.Fail(context.code, "A piece of a parallel loop failed.");
    return TENON_OK;
  }

  // Options of the plugin's entry in the YAML file; out keeps the fallback when the key is absent.
  int32_t Option(std::string_view key, int64_t fallback, int64_t low, int64_t high, std::string_view help, int64_t& out,
                 Error& error) const {
    return api_->option_i64(api_->host, Str(key), fallback, low, high, Str(help), &out, error.sink());
  }
  int32_t Option(std::string_view key, double fallback, std::string_view help, double& out, Error& error) const {
    return api_->option_f64(api_->host, Str(key), fallback, Str(help), &out, error.sink());
  }
  int32_t Option(std::string_view key, bool fallback, std::string_view help, bool& out, Error& error) const {
    uint32_t flag = fallback ? 1 : 0;
    const int32_t code = api_->option_flag(api_->host, Str(key), flag, Str(help), &flag, error.sink());
    out = flag != 0;
    return code;
  }
  int32_t Option(std::string_view key, std::string_view fallback, std::string_view help, std::string_view& out,
                 Error& error) const {
    tenon_str text = Str(fallback);
    const int32_t code = api_->option_text(api_->host, Str(key), text, Str(help), &text, error.sink());
    out = Text(text);
    return code;
  }

 private:
  const tenon_host_api* api_ = nullptr;
};

// Trace scope on this thread; the name outlives it.
class TraceScope {
 public:
  TraceScope(const Host& host, std::string_view name, uint64_t correlation_id = 0) : api_(host.api()) {
    if (!TENON_HAS_SLOT(api_, tenon_host_api, trace_end) || api_->trace_begin == nullptr) {
      api_ = nullptr;
      return;
    }
    api_->trace_begin(api_->host, Str(name), correlation_id);
  }
  ~TraceScope() {
    if (api_ != nullptr) api_->trace_end(api_->host);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  const tenon_host_api* api_;
};

}  // namespace tenon::sdk

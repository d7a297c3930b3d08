// A host that observes and injects faults: every service of tenon_host_api, written for the kit alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/plugin/completion.h"
#include "core/plugin/error_sink.h"
#include "core/plugin/host_handles.h"
#include "core/plugin/plugin_options.h"
#include "tenon/abi/host.h"
#include "tools/conform/case.h"

namespace tenon::conform {

// What the host does differently from an ordinary one.
struct HostFaults {
  std::int64_t fail_alloc_at = 0;   // the k-th mem_alloc fails, from 1; 0: none
  std::int64_t fail_option_at = 0;  // the k-th option_* fails
  bool fail_parallel_for = false;
  bool no_optional_slots = false;   // every optional service is NULL
  std::uint32_t abi_minor = 0;      // that the table states
  std::uint32_t garbage_bytes = 0;  // of a newer host, after the part that the plugin knows
};

// Key-value store inside the process.
class MemoryStore final : public KeyValueStore {
 public:
  Result<std::string> Get(std::string_view key, std::uint64_t timeout_ns) override;
  Status Put(std::string_view key, std::string_view value) override;
  Status Delete(std::string_view key) override;
  // From the k-th call on every call fails with UNAVAILABLE; 0: none.
  void FailFrom(std::int64_t call);

 private:
  Status Injected();
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;
  std::int64_t calls_ = 0, fail_from_ = 0;
};

class FakeHost {
 public:
  FakeHost(Context& context, const HostFaults& faults = {}, ConfigNode options = {});
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const tenon_host_api* api() const { return api_; }
  CompletionQueue& completions() { return completions_; }
  const PluginOptions& options() const { return options_; }

  std::int64_t allocs() const { return allocs_.load(); }
  std::int64_t option_calls() const { return option_calls_.load(); }
  std::int64_t live_blocks() const { return live_blocks_.load(); }
  // Runs inside a service while the plugin is calling it: what a re-entrant host does. Set while nothing runs.
  void SetReentry(std::function<void()> hook) { reentry_ = std::move(hook); }
  // The instance was destroyed: from now on fallible services refuse, and calls of others are violations.
  void Close() { open_.store(false); }

  // Text of an id that intern gave out.
  std::string Interned(std::uint64_t id);

 private:
  friend struct Services;
  Context& context_;
  const HostFaults faults_;
  PluginOptions options_;
  CompletionQueue completions_;
  std::vector<std::uint64_t> table_memory_;
  tenon_host_api* api_;
  std::atomic<bool> open_{true};
  std::atomic<std::int64_t> allocs_{0}, option_calls_{0}, live_blocks_{0};
  std::function<void()> reentry_;
  std::mutex mutex_;  // guards what follows
  std::map<void*, std::uint64_t> blocks_;
  std::map<std::string, std::uint64_t> interned_;
  std::string cache_folder_;
};

}  // namespace tenon::conform

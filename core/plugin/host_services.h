#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/config/node.h"
#include "core/plugin/plugin_options.h"
#include "tenon/abi/host.h"

namespace tenon {

// What host services need from the program.
struct HostContext {
  ThreadPool* pool = nullptr;  // outlives every open HostServices
  std::string cache_root;      // empty: $TENON_CACHE_DIR, $XDG_CACHE_HOME/tenon or ~/.cache/tenon
  bool check = false;          // the plugin runs under checks (checked_tables.h)
};

// The table that one plugin instance gets, and the state behind it. The state is never freed: a plugin that calls late,
// from a static destructor for example, gets FAILED_PRECONDITION instead of a crash.
class HostServices {
 public:
  HostServices(const HostContext& context, std::string plugin_id, std::string file_name, ConfigNode options);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;
  ~HostServices();  // closes

  // Valid for ever.
  const tenon_host_api* api() const;
  // What the plugin asked for so far, and what the user wrote that nobody asked for.
  const PluginOptions& options() const;
  // From now on every fallible service returns FAILED_PRECONDITION, also in a forked child.
  void Close();
  // OK while the services work; FAILED_PRECONDITION after Close (TN-PLG-091) and in a forked child (TN-PLG-092).
  Status Usable() const;
  // Host memory that the plugin holds now, in bytes.
  std::int64_t held_bytes() const;

 private:
  tenon_host* state_;
};

// Text of an interned id; empty for an id that was never given out. Lives for ever.
std::string_view InternedText(std::uint64_t id);

}  // namespace tenon

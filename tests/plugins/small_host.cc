#include "tests/plugins/small_host.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace tenon::testing {

namespace sdk = tenon::sdk;
namespace {

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

// The services find the text of the last error and the option here.
std::string* g_error = nullptr;
const std::string* g_isa = nullptr;

void FillServices(tenon_host_api& api) {
  api.struct_size = sizeof api;
  api.abi_minor = TENON_ABI_MINOR;
  api.error_set = [](tenon_error*, const tenon_error_info* info) {
    g_error->assign(info->message.data, static_cast<size_t>(info->message.size));
  };
  api.log = [](tenon_host*, uint32_t, tenon_str, tenon_str, uint32_t) {};
  api.thread_budget = [](tenon_host*) { return 2u; };
  // Pieces in reverse order: nothing may depend on which comes first.
  api.parallel_for = [](tenon_host*, uint64_t count, uint64_t grain, uint32_t, tenon_range_fn fn, void* user,
                        tenon_error*) {
    const uint64_t step = grain == 0 ? 1 : grain;
    for (uint64_t piece = (count + step - 1) / step; piece-- > 0;) {
      const uint64_t begin = piece * step;
      fn(user, begin, begin + step < count ? begin + step : count, 0);
    }
    return static_cast<int32_t>(TENON_OK);
  };
  api.cancelled = [](const tenon_cancel*) { return 0u; };
  api.option_i64 = [](tenon_host*, tenon_str, int64_t value, int64_t, int64_t, tenon_str, int64_t* out, tenon_error*) {
    *out = value;
    return static_cast<int32_t>(TENON_OK);
  };
  api.option_text = [](tenon_host*, tenon_str key, tenon_str value, tenon_str, tenon_str* out, tenon_error*) {
    *out = sdk::Text(key) == "isa" ? sdk::Str(*g_isa) : value;
    return static_cast<int32_t>(TENON_OK);
  };
  api.clock_ns = [](tenon_host*) {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
}

}  // namespace

SmallHost::SmallHost(const std::string& path, const std::string& isa) : isa_(isa) {
  g_error = &error_;
  g_isa = &isa_;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Die(std::string("The plugin cannot be opened: ") + dlerror());
  using QueryFn = const tenon_plugin_descriptor* (*)(const tenon_host_info*);
  const auto query = reinterpret_cast<QueryFn>(dlsym(library, "tenon_plugin_query_v1"));
  if (query == nullptr) Die("The plugin has no entry point.");
  tenon_host_info info = TENON_INIT(tenon_host_info);
  info.abi_major = TENON_ABI_MAJOR;
  info.abi_minor = TENON_ABI_MINOR;
  const tenon_plugin_descriptor* descriptor = query(&info);
  FillServices(api_);
  tenon_create_args args = TENON_INIT(tenon_create_args);
  args.thread_budget = 2;
  args.host = &api_;
  if (descriptor->create(&args, &plugin_, nullptr) != TENON_OK) Die("create failed: " + error_);
  for (uint32_t i = 0; i < descriptor->interface_count; ++i) {
    const tenon_interface& interface = sdk::AtStride(descriptor->interfaces, descriptor->interface_stride, i);
    const std::string_view id = sdk::Text(interface.id);
    if (id == TENON_INTERFACE_OP) ops_ = static_cast<const tenon_op_vtable*>(interface.vtable);
    if (id == TENON_INTERFACE_DEVICE) devices_ = static_cast<const tenon_device_vtable*>(interface.vtable);
  }
  if (ops_ == nullptr || devices_ == nullptr) Die("The plugin lacks an interface.");
  if (devices_->open(plugin_, 0, &device_, nullptr) != TENON_OK) Die("The device cannot be opened: " + error_);
}

}  // namespace tenon::testing
